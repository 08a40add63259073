import { schedules, type LedgerQuery, type ScheduleDetail } from '@/api/schedules'
import { client } from '@/api/server'
import { useEvents } from '@/refresh/useEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useThrottled } from '@/refresh/useThrottled'
import { newestOf } from './filters'
import { historyOf, newestJobOf, type HistoryEntry } from './history'
import { parseScheduleEvent } from './scheduleEvents'

/** The number of entries on a page of the history. */
const ENTRIES = 50

export interface ScheduleHistory {
  readonly entries: readonly HistoryEntry[]
  /** `before` of the older entries; null if there are none. */
  readonly next: string | null
}

export interface UseScheduleDetailReturn {
  readonly schedule: Resource<ScheduleDetail>
  readonly history: Resource<ScheduleHistory>
  readonly refresh: () => void
}

/** Read one schedule and a part of its history, and keep them up to date. */
export function useScheduleDetail(
  id: () => number,
  query: () => LedgerQuery,
): UseScheduleDetailReturn {
  const schedule = useResource((signal) => schedules.get(id(), signal), { key: id })
  const history = useHistory(id, query)

  function refresh(): void {
    schedule.refresh()
    history.refresh()
  }

  const refreshSoon = useThrottled(refresh)
  useEvents((event) => {
    const changes = parseScheduleEvent(event)
    if (changes.missed || changes.gone === id()) refreshSoon()
    if (changes.schedule?.id !== id()) return
    // Events do not contain the next runs, so the schedule is read as well. The rest is shown immediately.
    const current = schedule.data.value
    if (current !== null) schedule.set({ ...current, ...newestOf(changes.schedule, [current]) })
    refreshSoon()
  })

  return { schedule, history, refresh }
}

function useHistory(id: () => number, query: () => LedgerQuery): Resource<ScheduleHistory> {
  return useResource<ScheduleHistory>(
    async (signal) => {
      const { ticks, next } = await schedules.ticks(id(), ENTRIES, query(), signal)
      const ids = ticks.flatMap((tick) => newestJobOf(tick) ?? [])
      const jobs = ids.length === 0 ? [] : (await client.jobs.list({ job_ids: ids }, signal)).jobs
      return { entries: historyOf(ticks, jobs), next }
    },
    { key: () => `${id()} ${JSON.stringify(query())}`, keepData: true },
  )
}
