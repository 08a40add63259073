import type { Queue } from '@/api/model'
import { countText } from '@/format/number'
import { texts } from '@/texts/texts'

/** The largest limit that the database can store. */
export const LARGEST_LIMIT = 2 ** 31 - 1

/** Format the number of running jobs, and of how many slots: the limit, or those of the living nodes. */
export function runningText(
  queue: Pick<Queue, 'started' | 'concurrency_limit'>,
  slots?: number | null,
): string {
  const running = countText(queue.started)
  const most = queue.concurrency_limit ?? slots ?? null
  return most === null ? running : texts.value.queues.of(running, countText(most))
}

/** Return whether the limits or the turns of a queue differ from those that code declares for it. */
export function isChanged(
  queue: Pick<Queue, 'concurrency_limit' | 'fair_by' | 'limits' | 'declared'>,
): boolean {
  const { declared } = queue
  if (declared === null) return false
  return (
    queue.concurrency_limit !== (declared['concurrency_limit'] ?? null) ||
    queue.fair_by !== (declared['fair_by'] ?? null) ||
    sortedText(queue.limits) !== sortedText(declared['limits'] ?? null)
  )
}

/** Return JSON whose keys are in order, so that equal values are equal texts. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
}

/** Parse a limit. Returns null for an empty input (no limit), and undefined for an invalid one. */
export function parseLimit(input: string | number): number | null | undefined {
  const text = String(input).trim()
  if (text === '') return null
  const limit = /^\d+$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= LARGEST_LIMIT ? limit : undefined
}
