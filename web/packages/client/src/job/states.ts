import type { Job } from '../api/model'

/** The states of a job. While a job runs, its `state` may be a label of its own instead of `started`. */
export const JOB_STATES = ['pending', 'started', 'finished', 'failed', 'cancelled'] as const
export const ENDED_STATES = ['finished', 'failed', 'cancelled'] as const

export type JobState = (typeof JOB_STATES)[number]
export type EndedState = (typeof ENDED_STATES)[number]

export function isEndedState(state: string): state is EndedState {
  return (ENDED_STATES as readonly string[]).includes(state)
}

export function hasEnded(job: Pick<Job, 'state'>): boolean {
  return isEndedState(job.state)
}

/** Return the state of a job: a label counts as `started`. */
export function stateOf(job: Pick<Job, 'state'>): JobState {
  const shown = JOB_STATES.find((state) => state === job.state)
  return shown ?? 'started'
}

/**
 * Whether `report` is older than `known`.
 *
 * Final states never change on the server, so a report of a running job is always older than one of an ended job.
 */
export function isOutdated(report: Job, known: Job): boolean {
  if (hasEnded(known)) {
    return !hasEnded(report)
  }
  return Date.parse(report.updated_on) < Date.parse(known.updated_on)
}

type Stated = Pick<Job, 'state'>

export const isPending = (job: Stated): boolean => job.state === 'pending'
/** Whether a body runs now; `isUnfinished` also counts jobs that wait. */
export const isStarted = (job: Stated): boolean => stateOf(job) === 'started'
/** Pending or started, as `jobIsRunning` of `useJob`. */
export const isUnfinished = (job: Stated): boolean => !hasEnded(job)
export const isFinished = (job: Stated): boolean => job.state === 'finished'
export const isFailed = (job: Stated): boolean => job.state === 'failed'
export const isCancelled = (job: Stated): boolean => job.state === 'cancelled'

/** Return the label that a running job has given itself, apart from its state; null if it has none. */
export function labelOf(job: Stated): string | null {
  return (JOB_STATES as readonly string[]).includes(job.state) ? null : job.state
}
