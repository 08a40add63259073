import type { Job } from '../api/model'

/** The states of a job. While one runs, the server may show the job's own label in their place. */
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

/** The state behind what is shown: a label stands for `started`. */
export function stateOf(job: Pick<Job, 'state'>): JobState {
  const shown = JOB_STATES.find((state) => state === job.state)
  return shown ?? 'started'
}

/**
 * Whether `report` was made before `known`.
 *
 * Ends are final on the server, so nothing that still runs can be newer than an end.
 */
export function isOutdated(report: Job, known: Job): boolean {
  if (hasEnded(known)) {
    return !hasEnded(report)
  }
  return Date.parse(report.updated_on) < Date.parse(known.updated_on)
}
