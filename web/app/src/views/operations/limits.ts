import type { Queue } from '@/api/model'
import { countText } from '@/format/number'

export const LARGEST_LIMIT = 2 ** 31 - 1

/** How many jobs run, and of how many that may. */
export function runningText(queue: Pick<Queue, 'started' | 'concurrency_limit'>): string {
  const running = countText(queue.started)
  const most = queue.concurrency_limit
  return most === null ? running : `${running} of ${countText(most)}`
}

/** A limit as it was typed: null for none, undefined where it cannot be one. */
export function readLimit(typed: string | number): number | null | undefined {
  const text = String(typed).trim()
  if (text === '') return null
  const limit = /^\d+$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= LARGEST_LIMIT ? limit : undefined
}
