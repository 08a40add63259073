/** A line of a schema, and whether it was added or removed by a deployment. */
export interface DiffLine {
  readonly mark: '+' | '-' | ' '
  readonly text: string
}

/** Above this size of the table of common lengths, lines are compared as sets: schemas have hundreds of lines. */
const MAX_CELLS = 4_000_000

const removed = (text: string): DiffLine => ({ mark: '-', text })
const added = (text: string): DiffLine => ({ mark: '+', text })

/** Return the lines of a schema that changed since the previous one, each below the schedule to which it belongs. */
export function changesBetween(before: string, after: string): DiffLine[] {
  const changes: DiffLine[] = []
  let schedule: DiffLine | null = null
  for (const line of diffOf(linesOf(before), linesOf(after))) {
    if (line.mark === ' ') {
      if (isSchedule(line)) schedule = line
      continue
    }
    if (isSchedule(line)) schedule = null
    else if (schedule !== null) changes.push(schedule)
    schedule = null
    changes.push(line)
  }
  return changes
}

/** Whether a line names a schedule, and is not one of its options. */
function isSchedule({ text }: DiffLine): boolean {
  return /^\s*verb /.test(text)
}

function linesOf(schema: string): string[] {
  return schema.split('\n').filter((line) => line.trim() !== '')
}

/** Return all lines in their order, by the longest common subsequence. */
export function diffOf(before: readonly string[], after: readonly string[]): DiffLine[] {
  if (before.length * after.length > MAX_CELLS) return differenceOf(before, after)
  const lengths = commonLengths(before, after)
  const length = (row: number, column: number): number => lengths[row]?.[column] ?? 0
  const result: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < before.length && column < after.length) {
    const [old = '', next = ''] = [before[row], after[column]]
    if (old === next) {
      result.push({ mark: ' ', text: old })
      row += 1
      column += 1
    } else if (length(row + 1, column) >= length(row, column + 1)) {
      result.push(removed(old))
      row += 1
    } else {
      result.push(added(next))
      column += 1
    }
  }
  return [...result, ...before.slice(row).map(removed), ...after.slice(column).map(added)]
}

function differenceOf(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [old, next] = [new Set(before), new Set(after)]
  return [
    ...before.filter((line) => !next.has(line)).map(removed),
    ...after.filter((line) => !old.has(line)).map(added),
  ]
}

/** Return for each pair of places how many lines the rests from there have in common. */
function commonLengths(before: readonly string[], after: readonly string[]): number[][] {
  const lengths: number[][] = []
  let below: number[] = []
  for (let row = before.length - 1; row >= 0; row -= 1) {
    const current: number[] = []
    for (let column = after.length - 1; column >= 0; column -= 1) {
      current[column] =
        before[row] === after[column]
          ? (below[column + 1] ?? 0) + 1
          : Math.max(below[column] ?? 0, current[column + 1] ?? 0)
    }
    lengths[row] = current
    below = current
  }
  return lengths
}
