import {
  hasEnded,
  humanReadableState,
  shownError,
  stateOf,
  type Job,
  type JobEndCallbacks,
  type JobId,
  type LabelText,
  type Messages,
  type ShownError,
} from '@horae/client'
import {
  computed,
  shallowRef,
  toValue,
  watch,
  type ComputedRef,
  type MaybeRefOrGetter,
  type Ref,
} from 'vue'

import { useJobEnd } from './useJobEnd'

/** The functions of a store or a tracker that a job handle needs. */
export interface JobSource {
  session: () => number
  get: (id: JobId) => Job | undefined
  isGone: (id: JobId) => boolean
  track: (job: Job) => Job
  follow: (id: JobId) => () => void
  cancel: (id: JobId) => Promise<Job>
}

export interface UseJobOptions extends JobEndCallbacks {
  /** Called when a cancel request failed. */
  readonly onJobCancelFailed?: (error: unknown) => void
  /** Called to show an error of `cancelJob` to the user. */
  readonly showError?: (error: ShownError) => void
  /** Converts a label of the job into a text for the user. */
  readonly labelText?: LabelText | undefined
}

export interface UseJobReturn {
  readonly job: ComputedRef<Job | null>
  /** Pending or started. */
  readonly jobIsRunning: ComputedRef<boolean>
  readonly jobIsFinished: ComputedRef<boolean>
  /** Finished, failed, cancelled or gone. */
  readonly jobIsEnded: ComputedRef<boolean>
  /** Failed or cancelled. */
  readonly jobHasFailed: ComputedRef<boolean>
  /** The server no longer has the job. */
  readonly jobIsGone: ComputedRef<boolean>
  readonly jobHumanReadableState: ComputedRef<string>
  /** A cancel request is in progress. */
  readonly cancelLoading: Readonly<Ref<boolean>>
  /** Follow a job that the component has just started. */
  readonly createAndMonitorJob: (job: Job) => void
  /** Cancel the job if it is running. Never throws; errors are passed to `showError` and `onJobCancelFailed`. */
  readonly cancelJob: () => Promise<void>
}

/** Implements `useJob` for any source of jobs. It stops with the scope in which it is created. */
export function createJobHandle(
  source: JobSource,
  messages: Ref<Messages>,
  requestedId: MaybeRefOrGetter<JobId | null | undefined>,
  options: UseJobOptions,
): UseJobReturn {
  const id = useFollowedId(source, requestedId)
  const job = computed(() => (id.value === null ? null : (source.get(id.value) ?? null)))
  const jobIsGone = computed(() => id.value !== null && source.isGone(id.value))
  const state = computed(() => (job.value && !jobIsGone.value ? stateOf(job.value) : null))
  const jobIsRunning = computed(() => state.value === 'pending' || state.value === 'started')
  useJobEnd(id, job, jobIsGone, options)

  return {
    job,
    jobIsRunning,
    jobIsFinished: computed(() => state.value === 'finished'),
    jobIsEnded: computed(() => jobIsGone.value || (job.value !== null && hasEnded(job.value))),
    jobHasFailed: computed(() => state.value === 'failed' || state.value === 'cancelled'),
    jobIsGone,
    jobHumanReadableState: computed(() => {
      if (jobIsGone.value) return messages.value.states.gone
      return job.value ? humanReadableState(job.value, messages.value, options.labelText) : ''
    }),
    createAndMonitorJob: (started) => {
      source.track(started)
      id.value = started.id
    },
    ...useCancel(source, messages, id, jobIsRunning, options),
  }
}

/**
 * Return the id of the current job, and follow that job until the scope ends. A new requested id replaces a started job.
 */
function useFollowedId(
  source: JobSource,
  requestedId: MaybeRefOrGetter<JobId | null | undefined>,
): Ref<JobId | null> {
  const current = shallowRef(toValue(requestedId) ?? null)
  // After a logout a started job belongs to the previous user, so only the requested id remains.
  watch([() => toValue(requestedId) ?? null, source.session], ([id]) => (current.value = id))
  watch(
    [current, source.session] as const,
    ([id], _previous, onCleanup) => {
      if (id !== null) onCleanup(source.follow(id))
    },
    { immediate: true },
  )
  return current
}

function useCancel(
  source: JobSource,
  messages: Ref<Messages>,
  id: Ref<JobId | null>,
  jobIsRunning: Ref<boolean>,
  options: UseJobOptions,
): Pick<UseJobReturn, 'cancelJob' | 'cancelLoading'> {
  const cancelLoading = shallowRef(false)

  async function cancelJob(): Promise<void> {
    if (id.value === null || !jobIsRunning.value || cancelLoading.value) return
    cancelLoading.value = true
    try {
      await source.cancel(id.value)
    } catch (error) {
      options.showError?.(shownError(error, messages.value))
      options.onJobCancelFailed?.(error)
    } finally {
      cancelLoading.value = false
    }
  }

  return { cancelJob, cancelLoading }
}
