import type { JobDetail } from '@horae/vue'

import { client } from '@/api/server'
import { countText, plural } from '@/format/number'
import type { BulkAction } from './bulk'
import { namesOf, type JobFilters } from './filters'

/** What a change of all matching jobs would change now. */
export interface MatchingCount {
  readonly count: number
  /** All matching jobs were counted. */
  readonly complete: boolean
}

type ActionName = BulkAction['name']

/** Convert filters to the body of a request that changes all matching jobs. */
export function matchingBody(filters: JobFilters): Record<string, unknown> {
  const { search, states, type, queue, owner } = filters
  const types = namesOf(type)
  const queues = namesOf(queue)
  return {
    ...(search.trim() !== '' && { query: search.trim() }),
    ...(states.length > 0 && { states }),
    ...(types.length > 0 && { types }),
    ...(queues.length > 0 && { queues }),
    ...(owner.trim() !== '' && { owner: owner.trim() }),
  }
}

/** Count the jobs that an action would change now. */
export function countMatching(action: ActionName, filters: JobFilters): Promise<MatchingCount> {
  const body = matchingBody(filters)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/preview/`, { body })
}

/** Start a job that performs an action for all matching jobs, and return it. */
export function changeMatching(action: ActionName, filters: JobFilters): Promise<JobDetail> {
  const body = matchingBody(filters)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/`, { body })
}

/** Describe how many jobs would be changed. */
export function matchingText({ count, complete }: MatchingCount): string {
  return complete ? plural(count, 'job') : `at least ${countText(count)} jobs`
}
