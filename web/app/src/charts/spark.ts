export interface SparkPaths {
  readonly line: string
  readonly area: string
}

/** Return the paths of a small line without axes, from zero to its highest value. A null is a gap in the line. */
export function sparkPathsOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
): SparkPaths {
  const highest = Math.max(1, ...values.map((value) => value ?? 0))
  const x = (index: number): number => rounded((index * width) / Math.max(1, values.length - 1))
  const y = (value: number): number => rounded(height - 1 - (value / highest) * (height - 2))
  let line = ''
  let area = ''
  for (const [first, run] of runsOf(values)) {
    const points = run.map((value, offset) => `${x(first + offset)} ${y(value)}`)
    // A single point would be invisible without a length.
    const single = run.length === 1 ? 'h0.5' : ''
    line += `M${points.join('L')}${single}`
    area += `M${x(first)} ${height}L${points.join('L')}L${x(first + run.length - 1)} ${height}Z`
  }
  return { line, area }
}

/** Yield the values between gaps, each with the index of the first. */
function* runsOf(values: readonly (number | null)[]): Generator<[number, number[]]> {
  let run: number[] = []
  for (const [index, value] of [...values, null].entries()) {
    if (value !== null) {
      run.push(value)
    } else if (run.length > 0) {
      yield [index - run.length, run]
      run = []
    }
  }
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
