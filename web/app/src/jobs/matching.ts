import type { Job, JobDetail } from '@horae/vue'

import { client } from '@/api/server'
import { TIME_ZONE } from './filters'
import type { NewTime } from './newTime'

/** What a change of all matching jobs would change now. */
export interface MatchingCount {
  readonly count: number
  /** All matching jobs were counted. */
  readonly complete: boolean
}

export interface MatchingPreview extends MatchingCount {
  /** The newest few of the jobs. */
  readonly newest: readonly Job[]
}

/** A change of all jobs that match a query. */
export interface MatchingAction {
  readonly name: 'cancel' | 'retry' | 'reschedule' | 'delete'
}

export const MATCHING_ACTIONS: readonly [MatchingAction, ...MatchingAction[]] = [
  { name: 'cancel' },
  { name: 'retry' },
  { name: 'reschedule' },
  { name: 'delete' },
]

/** Return the body of a request that changes all jobs that match a query. */
export function matchingBody(query: string, time: NewTime | null): Record<string, unknown> {
  const which = query.trim() === '' ? { all: true } : { query: query.trim(), timezone: TIME_ZONE }
  return { ...which, ...time }
}

/** Count the jobs that an action would change now, and return the newest of them. */
export function previewMatching(
  action: MatchingAction['name'],
  query: string,
  time: NewTime | null,
): Promise<MatchingPreview> {
  const body = matchingBody(query, time)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/preview/`, { body })
}

/** Start a job that performs an action for all matching jobs, and return it. */
export function changeMatching(
  action: MatchingAction['name'],
  query: string,
  time: NewTime | null,
): Promise<JobDetail> {
  const body = matchingBody(query, time)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/`, { body })
}
