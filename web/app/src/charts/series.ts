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

/** Add up the series for stacked bars: each result is the sum of a series and all previous ones. */
export function stacked(series: readonly Series[]): number[][] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))),
  )
}
