import { shallowRef } from 'vue'

import type { Overview } from '@/api/model'
import type { ChartData } from './series'

interface Sample {
  readonly at: number
  readonly waiting: number
  readonly running: number
}

/** The number of samples to keep: one hour with a sample every five seconds. */
const MAX_SAMPLES = 720

const samples = shallowRef<readonly Sample[]>([])

/** Record how many jobs are waiting and running, because the server keeps no history of it. */
export function recordBacklog(overview: Overview): void {
  const at = Date.parse(overview.at) / 1000
  if (samples.value.at(-1)?.at === at) return
  const { pending: waiting, started: running } = overview.states
  samples.value = [...samples.value, { at, waiting, running }].slice(-MAX_SAMPLES)
}

/**
 * Return the recorded samples as chart data. A line needs two points, so an empty one is added before a single
 * sample.
 */
export function backlogSeries(): ChartData {
  const recorded = samples.value
  const before =
    recorded.length === 1
      ? recorded.map(({ at }) => ({ at: at - 60, waiting: null, running: null }))
      : []
  const shown = [...before, ...recorded]
  return {
    times: shown.map(({ at }) => at),
    series: [
      { label: 'Waiting', color: '--chart-1', values: shown.map(({ waiting }) => waiting) },
      { label: 'Running', color: '--chart-3', values: shown.map(({ running }) => running) },
    ],
  }
}

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
