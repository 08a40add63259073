import type { Totals, TypeCourse } from '@/api/model'
import { sortedBy, type SortValue } from '@/components/sorting'

/** The columns that can be chosen; the name is always shown. */
export const COLUMNS = [
  'course',
  'rate',
  'failed',
  'share',
  'wait_p50',
  'wait',
  'run_p50',
  'run',
] as const
export type Column = (typeof COLUMNS)[number]

export const SORTS = [
  'name',
  'rate',
  'failed',
  'share',
  'wait_p50',
  'wait',
  'run_p50',
  'run',
] as const
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

const VALUES: Readonly<Record<Exclude<Sort, 'name'>, (totals: Totals) => SortValue>> = {
  rate: ({ per_minute }) => per_minute,
  failed: ({ failed }) => failed,
  share: failedShare,
  wait_p50: ({ wait_p50_seconds }) => wait_p50_seconds,
  wait: ({ wait_p95_seconds }) => wait_p95_seconds,
  run_p50: ({ run_p50_seconds }) => run_p50_seconds,
  run: ({ run_p95_seconds }) => run_p95_seconds,
}

/** Sort types: names from A, else the largest first. Equal ones by name. */
export function sorted(courses: readonly TypeCourse[], by: Sort, reversed: boolean): TypeCourse[] {
  const byName = sortedBy(courses, ({ name }) => name, by === 'name' && reversed)
  if (by === 'name') return byName
  return sortedBy(byName, (course) => VALUES[by](shownTotals(course)), reversed)
}
