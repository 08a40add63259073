import type { Totals, TypeCourse } from '@/api/model'

export const SORTS = ['name', 'rate', 'failed', 'share', 'wait', 'run'] as const
export type Sort = (typeof SORTS)[number]

/** Return the share of ended jobs that failed; null if none ended. */
export function failedShare({ finished, failed, cancelled }: Totals): number | null {
  const ended = finished + failed + cancelled
  return ended === 0 ? null : failed / ended
}

/** Return the figures that a row shows: those after the deployment, if one was chosen. */
export function shownTotals(course: TypeCourse): Totals {
  return course.after ?? course.totals
}

/** A value before and after a deployment, and whether it became worse, better, or neither. */
export interface Comparison {
  readonly before: number
  readonly after: number
  readonly verdict: 'worse' | 'better' | 'same'
}

/** By which share a figure must change to be called worse or better: estimates of percentiles are off by a fifth. */
const NOTABLE = 0.5
/** The least change that is called so: half a percent of the jobs, or some milliseconds. */
const LEAST = 0.005

/** Compare a figure that should be small; null unless both are known. */
export function compared(
  course: TypeCourse,
  read: (totals: Totals) => number | null,
): Comparison | null {
  if (!course.before || !course.after) return null
  const before = read(course.before)
  const after = read(course.after)
  if (before === null || after === null) return null
  const change = after - before
  const isNotable = Math.abs(change) > Math.max(NOTABLE * before, LEAST)
  const verdict = !isNotable ? 'same' : change > 0 ? 'worse' : 'better'
  return { before, after, verdict }
}

const WEIGHTS: Readonly<Record<Sort, (totals: Totals) => number>> = {
  name: () => 0,
  rate: ({ per_minute }) => per_minute ?? -1,
  failed: ({ failed }) => failed,
  share: (totals) => failedShare(totals) ?? -1,
  wait: ({ wait_p95_seconds }) => wait_p95_seconds ?? -1,
  run: ({ run_p95_seconds }) => run_p95_seconds ?? -1,
}

/** Sort types: names from A, else the largest first. Equal ones by name. */
export function sorted(courses: readonly TypeCourse[], by: Sort, reversed: boolean): TypeCourse[] {
  const weight = (course: TypeCourse): number => WEIGHTS[by](shownTotals(course))
  const order = (left: TypeCourse, right: TypeCourse): number =>
    weight(right) - weight(left) || (left.name < right.name ? -1 : 1)
  const found = [...courses].sort(order)
  return reversed ? found.reverse() : found
}
