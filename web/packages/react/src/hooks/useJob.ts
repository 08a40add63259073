import {
  hasEnded,
  humanReadableState,
  isUnfinished,
  shownError,
  stateOf,
  type Job,
  type JobEndCallbacks,
  type JobId,
  type LabelText,
  type Messages,
  type ShownError,
} from '@horae/client'
import { useCallback, useEffect, useRef, useState, type RefObject } from 'react'

import { useHorae } from '../store/context'
import { useJobEnd } from './useJobEnd'
import { useLatest } from './useLatest'
import { useTracked } from './useTracked'

export interface UseJobOptions extends JobEndCallbacks {
  /** Called when a cancel request failed. */
  readonly onJobCancelFailed?: (error: unknown) => void
  /** Called to show an error of `cancelJob` to the user. */
  readonly showError?: (error: ShownError) => void
  /** Converts a label of the job into a text for the user. */
  readonly labelText?: LabelText | undefined
}

export interface UseJobReturn {
  readonly job: Job | null
  /** Pending or started. */
  readonly jobIsRunning: boolean
  readonly jobIsFinished: boolean
  /** Finished, failed, cancelled or gone. */
  readonly jobIsEnded: boolean
  /** Failed or cancelled. */
  readonly jobHasFailed: boolean
  /** The server no longer has the job. */
  readonly jobIsGone: boolean
  readonly jobHumanReadableState: string
  /** A cancel request is in progress. */
  readonly cancelLoading: boolean
  /** Follow a job that the component has just started. */
  readonly createAndMonitorJob: (job: Job) => void
  /** Cancel the job if it is running. Never throws; errors are passed to `showError` and `onJobCancelFailed`. */
  readonly cancelJob: () => Promise<void>
}

/**
 * Follow one job until the component is unmounted: the job with the given id, or the one passed to `createAndMonitorJob`.
 * Each callback is called once per job.
 */
export function useJob(
  requestedId: JobId | null | undefined = null,
  options: UseJobOptions = {},
): UseJobReturn {
  const { store, messages, labelText } = useHorae()
  const callbacks = useLatest(options)
  const { id, createAndMonitorJob } = useFollowedId(requestedId ?? null)
  const job = useTracked(() => (id === null ? null : (store.get(id) ?? null)), null)
  const jobIsGone = useTracked(() => id !== null && store.isGone(id), false)
  useJobEnd(id, job, jobIsGone, callbacks)
  const cancel = useCancel(id, callbacks)

  return {
    job,
    jobIsGone,
    ...statesOf(job, jobIsGone),
    jobHumanReadableState: textOf(job, jobIsGone, messages, options.labelText ?? labelText),
    createAndMonitorJob,
    ...cancel,
  }
}

function statesOf(
  job: Job | null,
  isGone: boolean,
): Pick<UseJobReturn, 'jobIsRunning' | 'jobIsFinished' | 'jobIsEnded' | 'jobHasFailed'> {
  const state = job && !isGone ? stateOf(job) : null
  return {
    jobIsRunning: state === 'pending' || state === 'started',
    jobIsFinished: state === 'finished',
    jobIsEnded: isGone || (job !== null && hasEnded(job)),
    jobHasFailed: state === 'failed' || state === 'cancelled',
  }
}

function textOf(
  job: Job | null,
  isGone: boolean,
  messages: Messages,
  labelText: LabelText | undefined,
): string {
  if (isGone) return messages.states.gone
  return job ? humanReadableState(job, messages, labelText) : ''
}

/** Return the id of the current job, and follow that job while the component is mounted. */
function useFollowedId(
  requestedId: JobId | null,
): Pick<UseJobReturn, 'createAndMonitorJob'> & { readonly id: JobId | null } {
  const { store } = useHorae()
  const session = useTracked(() => store.session.value, 0)
  const [current, setCurrent] = useState({ id: requestedId, requestedId, session })
  // A new requested id replaces a started job, and after a logout a started job belongs to the previous user.
  const isOutdated = current.requestedId !== requestedId || current.session !== session
  if (isOutdated) setCurrent({ id: requestedId, requestedId, session })
  const id = isOutdated ? requestedId : current.id

  useEffect(() => (id === null ? undefined : store.follow(id)), [store, id, session])
  const createAndMonitorJob = useCallback(
    (started: Job) => {
      store.track(started)
      const now = store.session.value
      setCurrent((previous) => ({ ...previous, id: started.id, session: now }))
    },
    [store],
  )
  return { id, createAndMonitorJob }
}

function useCancel(
  id: JobId | null,
  callbacks: Readonly<RefObject<UseJobOptions>>,
): Pick<UseJobReturn, 'cancelJob' | 'cancelLoading'> {
  const { store, messages } = useHorae()
  const [cancelLoading, setCancelLoading] = useState(false)
  // The state is only known at the next rendering, and a second click can come before it.
  const isCancelling = useRef(false)

  const cancelJob = useCallback(async () => {
    const job = id === null || store.isGone(id) ? undefined : store.get(id)
    if (!job || !isUnfinished(job) || isCancelling.current) return
    isCancelling.current = true
    setCancelLoading(true)
    try {
      await store.cancel(job.id)
    } catch (error) {
      callbacks.current.showError?.(shownError(error, messages))
      callbacks.current.onJobCancelFailed?.(error)
    } finally {
      isCancelling.current = false
      setCancelLoading(false)
    }
  }, [store, id, messages, callbacks])

  return { cancelJob, cancelLoading }
}
