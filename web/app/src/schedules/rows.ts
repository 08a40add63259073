import type { Schedule } from '@/api/schedules'
import { sortedBy, type SortOrder, type SortValue } from '@/components/sorting'

/** The columns that can be chosen; the name and the state are always shown. */
export const COLUMNS = ['lane', 'next', 'duration'] as const
export type Column = (typeof COLUMNS)[number]

export const SORTS = ['failing', 'name', 'next', 'duration'] as const
export type Sort = (typeof SORTS)[number]

/** Count the runs in a row that failed or crashed. */
export function streakOf({ statistics }: Schedule): number {
  return statistics.consecutive_failures + statistics.consecutive_crashes
}

/** Whether its failures are all there is to say of a state: it waits for its next time, as most do. */
export function failsAtRest(schedule: Schedule): boolean {
  return streakOf(schedule) > 0 && schedule.enabled && schedule.state === 'idle'
}

const VALUES: Readonly<Record<Exclude<Sort, 'failing'>, (schedule: Schedule) => SortValue>> = {
  name: ({ name }) => name,
  next: ({ enabled, next_start_on: next }) => (enabled && next ? -Date.parse(next) : null),
  duration: ({ statistics }) => statistics.mean_duration_seconds,
}

/** Whether its runs fail, or it gave up after failures; the server has such schedules on its first page. */
function isFailing(schedule: Schedule): boolean {
  return streakOf(schedule) > 0 || schedule.disabled_reason === 'retries used up'
}

/** Sort schedules: the soonest next one first, else the largest; in the usual order those that fail, by module and name. */
export function sorted(
  schedules: readonly Schedule[],
  { by, reversed }: SortOrder<Sort>,
): readonly Schedule[] {
  if (by !== 'failing') return sortedBy(schedules, VALUES[by], reversed)
  const byName = sortedBy(schedules, VALUES.name)
  const byModule = sortedBy(byName, ({ module }) => module)
  const rows = sortedBy(byModule, (schedule) => Number(isFailing(schedule)))
  return reversed ? rows.reverse() : rows
}
