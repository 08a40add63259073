import type { Job, JobDetail } from '@horae/vue'

import type { ErrorGroup } from '@/api/model'
import { client } from '@/api/server'
import type { MatchingCount } from '@/jobs/matching'
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

/** A job that a change would reach, as it is shown before. */
export type Reached = Pick<
  Job,
  'id' | 'owner' | 'human_readable_error' | 'human_readable_error_sentence'
>

export interface GroupPreview extends MatchingCount {
  readonly newest: readonly Reached[]
}

/** The body of a request that changes the failed jobs of a group. */
function bodyOf(group: ErrorGroup): Record<string, unknown> {
  return { ids: group.job_ids, types: [group.type], states: ['failed'] }
}

/** Count the jobs of a group that an action would change now, and return some of them. */
export function previewGroup(action: GroupAction, group: ErrorGroup): Promise<GroupPreview> {
  const body = bodyOf(group)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/preview/`, { body })
}

/** Start a job that performs an action for the failed jobs of a group, and return it. */
export function changeGroup(action: GroupAction, group: ErrorGroup): Promise<JobDetail> {
  const body = bodyOf(group)
  return client.transport.json('POST', `/api/jobs/bulk/${action}/`, { body })
}

/** The text of a group's error: without its class, which stands before it. */
export function messageOf({ error, error_class }: ErrorGroup): string {
  const text = error ?? texts.value.errors.withoutText
  return error_class !== null && text.startsWith(`${error_class}: `)
    ? text.slice(error_class.length + 2)
    : text
}
