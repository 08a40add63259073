import type { BulkBody } from '@/api/bulk'
import type { ErrorGroup } from '@/api/model'
import { texts } from '@/texts/texts'

/** The ranges that the page offers, as the API names them. */
export const RANGES = [
  { since: '1h', name: 'hour' },
  { since: '24h', name: 'day' },
  { since: '7d', name: 'week' },
  { since: '30d', name: 'month' },
] as const

export const DEFAULT_RANGE = '24h'

const DEPLOYMENT = 'deployment:'

/** Return the range of a URL; one that the page does not offer becomes the default. */
export function rangeOf(given: unknown): string {
  if (typeof given === 'string' && given.startsWith(DEPLOYMENT)) return given
  return RANGES.find(({ since }) => since === given)?.since ?? DEFAULT_RANGE
}

/** Return the range since a deployment; without one since the newest. */
export function sinceDeployment(key = 'latest'): string {
  return `${DEPLOYMENT}${key}`
}

/** Convert a range to the parameters of the API. */
export function rangeQuery(range: string): { since: string } | { deployment: string } {
  return range.startsWith(DEPLOYMENT)
    ? { deployment: range.slice(DEPLOYMENT.length) }
    : { since: range }
}

export interface TypeCount {
  readonly type: string
  readonly count: number
}

/** Return how many attempts failed of each job type, the most first. */
export function countsByType(groups: readonly ErrorGroup[]): TypeCount[] {
  const counts = new Map<string, number>()
  for (const { type, count } of groups) counts.set(type, (counts.get(type) ?? 0) + count)
  return [...counts]
    .map(([type, count]) => ({ type, count }))
    .sort((a, b) => b.count - a.count || a.type.localeCompare(b.type))
}

export type GroupAction = 'retry' | 'delete'

/** The body of a request that changes the failed jobs of a group. */
export function bodyOf(group: ErrorGroup): BulkBody {
  return { ids: group.job_ids, types: [group.type], states: ['failed'] }
}

/** The text of a group's error: without its class, which stands before it. */
export function messageOf({ error, error_class }: ErrorGroup): string {
  const text = error ?? texts.value.errors.withoutText
  return error_class !== null && text.startsWith(`${error_class}: `)
    ? text.slice(error_class.length + 2)
    : text
}
