import { shallowRef } from 'vue'

import type { Overview } from '@/api/model'
import type { ChartData } from './series'

interface Sample {
  readonly at: number
  readonly waiting: number
  readonly running: number
}

/** Samples that are kept: an hour at a look every five seconds. */
const KEPT = 720

const samples = shallowRef<readonly Sample[]>([])

/** Remember how much waits and runs; the server keeps no history of it. */
export function sampleBacklog(overview: Overview): void {
  const at = Date.parse(overview.at) / 1000
  if (samples.value.at(-1)?.at === at) return
  const { pending: waiting, started: running } = overview.states
  samples.value = [...samples.value, { at, waiting, running }].slice(-KEPT)
}

/** How much waited and ran since the page was opened; a line needs two moments. */
export function backlogSeries(): ChartData {
  const seen = samples.value
  const before =
    seen.length === 1 ? seen.map(({ at }) => ({ at: at - 60, waiting: null, running: null })) : []
  const shown = [...before, ...seen]
  return {
    times: shown.map(({ at }) => at),
    series: [
      { label: 'Waiting', color: '--chart-1', values: shown.map(({ waiting }) => waiting) },
      { label: 'Running', color: '--chart-3', values: shown.map(({ running }) => running) },
    ],
  }
}

/** Seconds until what waits for a slot is done, at the pace of the last ten minutes; null if nothing ended in them. */
export function secondsToClear(overview: Overview): number | null {
  const since = Date.parse(overview.at) - 600_000
  const ended = overview.throughput
    .filter((minute) => Date.parse(minute.minute) >= since)
    .reduce((sum, minute) => sum + minute.finished + minute.failed, 0)
  return ended === 0 ? null : (overview.ready / ended) * 600
}
