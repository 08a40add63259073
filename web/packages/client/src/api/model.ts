import type { components } from './schema'

type Schemas = components['schemas']

export type JobId = number

/** A job as in lists and events, with the fields that its job type adds. */
export type Job = Readonly<Schemas['JobView']>

/** A job with its parameters and its result. */
export type JobDetail = Readonly<Schemas['JobDetail']>

/** A page of jobs, newest first. `next` is the cursor of the next page, or null on the last page. */
export type JobPage = Readonly<Schemas['JobList']>

/** How one attempt at a job ended. */
export type JobAttempt = Readonly<Schemas['AttemptView']>

/** The user as the server knows them, with their permissions. */
export type Me = Readonly<Schemas['Me']>

/** A filter for lists of jobs. Jobs must match all fields that are given. */
export interface JobQuery {
  /** Only jobs with these ids. `limit` does not apply then. */
  readonly job_ids?: readonly JobId[]
  /** Only jobs in these states. A state that starts with `!` is excluded. */
  readonly states?: readonly string[]
  readonly types?: readonly string[]
  readonly queues?: readonly string[]
  /** Only jobs of this user. For staff. */
  readonly owner?: string
  /** Only the members of this group. */
  readonly group_id?: number
  /** A search such as `tag:vip customer_id:4711`; see the guide of the search. */
  readonly query?: string
  /** The IANA name of the time zone of the days in `query`; UTC by default. */
  readonly timezone?: string
  /** Which jobs come first; the newest by default. `last_ended` and `first_ended` list only jobs that have ended. */
  readonly order?: 'newest' | 'oldest' | 'last_ended' | 'first_ended'
  readonly limit?: number
  readonly cursor?: string | null
}
