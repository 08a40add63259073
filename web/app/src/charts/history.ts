import type { HistorySeries } from '@/api/model'
import { texts, type Texts } from '@/texts/texts'
import type { ChartData } from './series'

/** What one chart shows of a history. */
export type Measure = 'waiting' | 'lateness' | 'throughput' | 'slots' | 'wait' | 'run'

/** Return the beginning of each step, as Unix timestamps. */
export function timesOf({
  start,
  step_seconds: step,
  seconds,
}: Pick<HistorySeries, 'start' | 'step_seconds' | 'seconds'>): number[] {
  const first = Date.parse(start) / 1000
  return seconds.map((_, index) => first + index * step)
}

/** Return the index of the newest step that was recorded; -1: none was. */
export function lastRecorded({ seconds }: Pick<HistorySeries, 'seconds'>): number {
  return seconds.findLastIndex((recorded) => recorded > 0)
}

/** Return how many jobs ended in a minute, by outcome. A step is divided by the seconds for which there are figures. */
export function perMinute(
  history: HistorySeries,
  counts: readonly (number | null)[],
): (number | null)[] {
  return counts.map((count, index) => {
    const seconds = history.seconds[index] ?? 0
    return count === null || seconds === 0 ? null : (count * 60) / seconds
  })
}

type Line = readonly [label: string, color: string, values: readonly (number | null)[]]

/** The lines or bars of each chart, in the order of the legend. */
const LINES: Readonly<
  Record<Measure, (history: HistorySeries, words: Texts['charts']['series']) => readonly Line[]>
> = {
  waiting: ({ waiting }, words) => [[words.waiting, '--chart-1', waiting]],
  lateness: ({ lateness_seconds }, words) => [[words.oldest, '--chart-1', lateness_seconds]],
  throughput: (history, words) => [
    [words.finished, '--chart-1', perMinute(history, history.finished)],
    [words.failed, '--chart-2', perMinute(history, history.failed)],
    [words.cancelled, '--chart-3', perMinute(history, history.cancelled)],
  ],
  slots: ({ slots_used, slots }, words) => [
    [words.used, '--chart-1', slots_used],
    [words.slots, '--chart-3', slots],
  ],
  wait: ({ wait_p50_seconds, wait_p95_seconds }, words) => [
    [words.median, '--chart-1', wait_p50_seconds],
    [words.p95, '--chart-3', wait_p95_seconds],
  ],
  run: ({ run_p50_seconds, run_p95_seconds }, words) => [
    [words.median, '--chart-1', run_p50_seconds],
    [words.p95, '--chart-3', run_p95_seconds],
  ],
}

/** Return the data of a chart; null is a gap, because nobody recorded that time. */
export function chartDataOf(history: HistorySeries, measure: Measure): ChartData {
  const lines = LINES[measure](history, texts.value.charts.series)
  return {
    times: timesOf(history),
    series: lines.map(([label, color, values]) => ({ label, color, values })),
  }
}

/** Whether there is nothing to show: nothing was recorded in this time. */
export function isEmpty(history: HistorySeries): boolean {
  return history.seconds.every((seconds) => seconds === 0)
}
