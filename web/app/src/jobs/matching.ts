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

/** Return the body of a request that changes all jobs that match a query. */
export function matchingBody(query: string, time: NewTime | null): BulkBody {
  const which = query.trim() === '' ? { all: true } : { query: query.trim(), timezone: TIME_ZONE }
  return { ...which, ...time }
}
