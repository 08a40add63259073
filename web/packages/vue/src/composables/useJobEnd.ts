import { computed, getCurrentScope, nextTick, watch, type Ref } from 'vue'

import type { Job, JobId } from '../api/model'
import { isEndedState, type EndedState } from '../job/states'

export interface JobEndCallbacks {
  readonly onJobFinished?: (job: Job) => void
  readonly onJobFailed?: (job: Job) => void
  readonly onJobCancelled?: (job: Job) => void
  /** The server no longer has the job. The argument is null if the job was never read. */
  readonly onJobGone?: (job: Job | null) => void
}

interface JobEnd {
  readonly id: JobId
  readonly outcome: EndedState | 'gone'
  readonly job: Job | null
}

/** Call the callbacks once for each job that ends, and also for a job that had ended before it was passed. */
export function useJobEnd(
  current: Ref<JobId | null>,
  job: Ref<Job | null>,
  isGone: Ref<boolean>,
  callbacks: JobEndCallbacks,
): void {
  const end = computed(() => endOf(current.value, job.value, isGone.value))
  const scope = getCurrentScope()
  let notifiedId: JobId | null = null

  function notify(jobEnd: JobEnd | null): void {
    if (jobEnd === null) {
      notifiedId = null
    } else if (notifiedId !== jobEnd.id) {
      notifiedId = jobEnd.id
      callBack(jobEnd, callbacks)
    }
  }

  watch(end, notify)
  // Not immediately: the callbacks may use variables that the component declares after this call.
  void nextTick(() => {
    if (scope?.active !== false) notify(end.value)
  })
}

function endOf(id: JobId | null, job: Job | null, isGone: boolean): JobEnd | null {
  if (id === null) return null
  if (isGone) return { id, outcome: 'gone', job }
  return job && isEndedState(job.state) ? { id, outcome: job.state, job } : null
}

function callBack({ outcome, job }: JobEnd, callbacks: JobEndCallbacks): void {
  if (outcome === 'gone') callbacks.onJobGone?.(job)
  else if (job !== null) reportEnd(job, callbacks)
}

/** Call the callback for the outcome of a job that has ended. */
export function reportEnd(job: Job, callbacks: JobEndCallbacks): void {
  if (job.state === 'finished') callbacks.onJobFinished?.(job)
  if (job.state === 'failed') callbacks.onJobFailed?.(job)
  if (job.state === 'cancelled') callbacks.onJobCancelled?.(job)
}
