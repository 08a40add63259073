import type { ScheduleDetail } from '@/api/schedules'
import { skipText } from './reasons'

/** A coming run of a schedule, or consecutive times at which it will not run, with the reason. */
export interface ComingTime {
  readonly moment: string
  readonly until: string | null
  readonly skipped: string | null
}

/** Merge the next runs with the times that will be skipped, in order. */
export function comingTimes({
  next_runs: runs,
  next_skips: skips,
}: Pick<ScheduleDetail, 'next_runs' | 'next_skips'>): ComingTime[] {
  const times: ComingTime[] = [
    ...runs.map((moment) => ({ moment, until: null, skipped: null })),
    ...skips.map(({ nominal_time, until, count, reason }) => ({
      moment: nominal_time,
      until: count > 1 ? until : null,
      skipped: skipText(reason),
    })),
  ]
  return times.sort((one, other) => Date.parse(one.moment) - Date.parse(other.moment))
}
