import type { JobState } from '@horae/vue'

import type { BulkChange, BulkBody } from '@/api/bulk'
import { TIME_ZONE } from './filters'
import type { NewTime } from './newTime'

/** The changes of all jobs that match a query. */
export const MATCHING_ACTIONS = [
  'cancel',
  'retry',
  'reschedule',
  'delete',
] as const satisfies readonly BulkChange[]

/** The states of the jobs that a change can reach. */
const REACHED: Readonly<Record<BulkChange, readonly JobState[]>> = {
  cancel: ['pending', 'started'],
  retry: ['failed', 'cancelled'],
  reschedule: ['pending'],
  delete: ['finished', 'failed', 'cancelled'],
}

/** Whether a change can reach any job of a query that names these states; none named: all. */
export function reachesAny(change: BulkChange, states: readonly JobState[]): boolean {
  return states.length === 0 || states.some((state) => REACHED[change].includes(state))
}

/** Return the body of a request that changes all jobs that match a query. */
export function matchingBody(query: string, time: NewTime | null): BulkBody {
  const which = query.trim() === '' ? { all: true } : { query: query.trim(), timezone: TIME_ZONE }
  return { ...which, ...time }
}
