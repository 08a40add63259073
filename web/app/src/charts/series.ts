import type { Minute } from '@/api/model'

/** One line, or one part of stacked bars. */
export interface Series {
  readonly label: string
  /** The name of the theme's colour variable. */
  readonly color: string
  /** A value for each time; null if there is none. */
  readonly values: readonly (number | null)[]
}

export interface ChartData {
  /** Unix timestamps in seconds, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

const MINUTES = 60

/** Return the minutes of the last hour, with null for those that the server has omitted. */
export function everyMinute(minutes: readonly Minute[], at: string): (Minute | null)[] {
  const known = new Map(
    minutes.map((minute) => [Math.floor(Date.parse(minute.minute) / 60_000), minute]),
  )
  const last = Math.floor(Date.parse(at) / 60_000)
  return Array.from(
    { length: MINUTES },
    (_, index) => known.get(last - MINUTES + 1 + index) ?? null,
  )
}

export function timesOf(at: string): number[] {
  const last = Math.floor(Date.parse(at) / 60_000)
  return Array.from({ length: MINUTES }, (_, index) => (last - MINUTES + 1 + index) * 60)
}

/** Return the number of jobs that ended in each minute, by outcome. */
export function throughputOf(minutes: readonly Minute[], at: string): ChartData {
  const every = everyMinute(minutes, at)
  const of = (name: 'finished' | 'failed' | 'cancelled'): number[] =>
    every.map((minute) => minute?.[name] ?? 0)
  return {
    times: timesOf(at),
    series: [
      { label: 'Finished', color: '--chart-1', values: of('finished') },
      { label: 'Failed', color: '--chart-2', values: of('failed') },
      { label: 'Cancelled', color: '--chart-3', values: of('cancelled') },
    ],
  }
}

/** Return the time from due to started in each minute, in seconds. */
export function startDelayOf(minutes: readonly Minute[], at: string): ChartData {
  const every = everyMinute(minutes, at)
  return {
    times: timesOf(at),
    series: [
      {
        label: 'Mean',
        color: '--chart-1',
        values: every.map((minute) => minute?.mean_pick_up_seconds ?? null),
      },
      {
        label: 'Maximum',
        color: '--chart-3',
        values: every.map((minute) => minute?.longest_pick_up_seconds ?? null),
      },
    ],
  }
}

/** Add up the series for stacked bars: each result is the sum of a series and all previous ones. */
export function stacked(series: readonly Series[]): number[][] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))),
  )
}
