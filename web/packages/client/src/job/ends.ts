import type { Job, JobId } from '../api/model'
import { isEndedState, type EndedState } from './states'

export interface JobEndCallbacks {
  readonly onJobFinished?: (job: Job) => void
  readonly onJobFailed?: (job: Job) => void
  readonly onJobCancelled?: (job: Job) => void
  /** The server no longer has the job. The argument is null if the job was never read. */
  readonly onJobGone?: (job: Job | null) => void
}

/** How a job ended, for the component that follows it. */
export interface JobEnd {
  readonly id: JobId
  readonly outcome: EndedState | 'gone'
  readonly job: Job | null
}

/** Return the end of the job with this id; null while it has not ended, or without a job. */
export function endOf(id: JobId | null, job: Job | null, isGone: boolean): JobEnd | null {
  if (id === null) return null
  if (isGone) return { id, outcome: 'gone', job }
  return job && isEndedState(job.state) ? { id, outcome: job.state, job } : null
}

/** Call the callback for an end. */
export function reportEnd({ outcome, job }: JobEnd, callbacks: JobEndCallbacks): void {
  if (outcome === 'gone') callbacks.onJobGone?.(job)
  else if (job !== null) reportEnded(job, callbacks)
}

/** Call the callback for the state of a job that has ended. */
export function reportEnded(job: Job, callbacks: Omit<JobEndCallbacks, 'onJobGone'>): void {
  if (job.state === 'finished') callbacks.onJobFinished?.(job)
  if (job.state === 'failed') callbacks.onJobFailed?.(job)
  if (job.state === 'cancelled') callbacks.onJobCancelled?.(job)
}
