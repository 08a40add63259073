import type { Queue } from '@/api/model'
import { countText } from '@/format/number'

/** The largest limit that the database can store. */
export const LARGEST_LIMIT = 2 ** 31 - 1

/** Format the number of running jobs and the limit, if there is one. */
export function runningText(queue: Pick<Queue, 'started' | 'concurrency_limit'>): string {
  const running = countText(queue.started)
  const limit = queue.concurrency_limit
  return limit === null ? running : `${running} of ${countText(limit)}`
}

/** Parse a limit. Returns null for an empty input (no limit), and undefined for an invalid one. */
export function parseLimit(input: string | number): number | null | undefined {
  const text = String(input).trim()
  if (text === '') return null
  const limit = /^\d+$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= LARGEST_LIMIT ? limit : undefined
}
