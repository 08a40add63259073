import type { Overview } from '@/api/model'

/**
 * Estimate the seconds until the ready jobs are done, from the throughput of the last ten minutes. Null if no job
 * ended in that time.
 */
export function secondsToClear(overview: Overview): number | null {
  const since = Date.parse(overview.at) - 600_000
  const ended = overview.throughput
    .filter((minute) => Date.parse(minute.minute) >= since)
    .reduce((sum, minute) => sum + minute.finished + minute.failed, 0)
  return ended === 0 ? null : (overview.ready / ended) * 600
}
