import type { components } from './schema'

type Schemas = components['schemas']

export type JobId = number

/** A job as lists and events show it, with what its type adds. */
export type Job = Readonly<Schemas['JobView']>

/** A job as its own page shows it: with parameters and result. */
export type JobDetail = Readonly<Schemas['JobDetail']>

/** A page of jobs, the newest first; `next` is the cursor of the next page, or null on the last. */
export type JobPage = Readonly<Schemas['JobList']>

/** How one attempt at a job ended. */
export type JobAttempt = Readonly<Schemas['AttemptView']>

/** Who somebody is to the server, and what they may see and change. */
export type Me = Readonly<Schemas['Me']>

/** Which jobs to list; what is left out is no filter. */
export interface JobQuery {
  /** The answer to a question with ids is never cut short. */
  readonly job_ids?: readonly JobId[]
  /** States, each with `!` in front to leave it out. */
  readonly states?: readonly string[]
  readonly types?: readonly string[]
  readonly queues?: readonly string[]
  /** Whose jobs; for staff. */
  readonly owner?: string
  readonly limit?: number
  readonly cursor?: string | null
}
