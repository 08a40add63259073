import type { Minute } from '@/api/model'

/** One line or part of a bar; a value for each moment, null where there is none. */
export interface Series {
  readonly label: string
  /** The name of a colour of the theme. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

export interface ChartData {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

const MINUTES = 60

/** The last hour minute by minute, with nothing where the server has left a minute out. */
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

/** How many jobs ended in each minute, by how. */
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

/** How long jobs waited after they were due, in seconds. */
export function latenessOf(minutes: readonly Minute[], at: string): ChartData {
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

/** Each series on top of those before it, for bars that are painted from the highest down. */
export function stacked(series: readonly Series[]): number[][] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))),
  )
}
