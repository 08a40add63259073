import {
  computed,
  shallowRef,
  toValue,
  watch,
  type ComputedRef,
  type MaybeRefOrGetter,
  type Ref,
} from 'vue'

import type { Job, JobId } from '../api/model'
import type { Messages } from '../i18n/messages'
import { hasEnded, stateOf } from '../job/states'
import { humanReadableState, shownError, type LabelText, type ShownError } from '../job/wording'
import { useJobEnd, type JobEndCallbacks } from './useJobEnd'

/** What a handle needs of a store or a tracker. */
export interface JobKeeper {
  session: () => number
  get: (id: JobId) => Job | undefined
  isGone: (id: JobId) => boolean
  track: (job: Job) => Job
  follow: (id: JobId) => () => void
  cancel: (id: JobId) => Promise<Job>
}

export interface UseJobOptions extends JobEndCallbacks {
  /** The cancel request was refused, or got no answer. */
  readonly onJobCancelFailed?: (error: unknown) => void
  /** Show an error of `cancelJob` to the user. */
  readonly showError?: (error: ShownError) => void
  /** Puts the job's own labels into words. */
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
  /** A cancel request is on its way. */
  readonly cancelLoading: Readonly<Ref<boolean>>
  /** Follow a job that a request of the component has just started. */
  readonly createAndMonitorJob: (job: Job) => void
  /** Cancel the job if it runs. Never throws: see `showError` and `onJobCancelFailed`. */
  readonly cancelJob: () => Promise<void>
}

/** The behaviour of `useJob` over any keeper of jobs; it ends with the scope it is made in. */
export function createJobHandle(
  keeper: JobKeeper,
  messages: Ref<Messages>,
  given: MaybeRefOrGetter<JobId | null | undefined>,
  options: UseJobOptions,
): UseJobReturn {
  const id = useFollowedId(keeper, given)
  const job = computed(() => (id.value === null ? null : (keeper.get(id.value) ?? null)))
  const jobIsGone = computed(() => id.value !== null && keeper.isGone(id.value))
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
      keeper.track(started)
      id.value = started.id
    },
    ...useCancel(keeper, messages, id, jobIsRunning, options),
  }
}

/** The id in use, followed while the scope lives. A new given id takes the place of a started job. */
function useFollowedId(
  keeper: JobKeeper,
  given: MaybeRefOrGetter<JobId | null | undefined>,
): Ref<JobId | null> {
  const current = shallowRef(toValue(given) ?? null)
  // After a logout a started job belongs to somebody else; a given id may be asked for anew.
  watch([() => toValue(given) ?? null, keeper.session], ([id]) => (current.value = id))
  watch(
    [current, keeper.session] as const,
    ([id], _previous, onCleanup) => {
      if (id !== null) onCleanup(keeper.follow(id))
    },
    { immediate: true },
  )
  return current
}

function useCancel(
  keeper: JobKeeper,
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
      await keeper.cancel(id.value)
    } catch (error) {
      options.showError?.(shownError(error, messages.value))
      options.onJobCancelFailed?.(error)
    } finally {
      cancelLoading.value = false
    }
  }

  return { cancelJob, cancelLoading }
}
