import { shallowRef, watch, type Ref } from 'vue'

import { schedules, type ScheduleDetail } from '@/api/schedules'
import { client } from '@/api/server'
import { useEvents } from '@/refresh/useEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useThrottled } from '@/refresh/useThrottled'
import { newestOf } from './filters'
import { historyOf, newestJobOf, type HistoryEntry } from './history'
import { parseScheduleEvent } from './scheduleEvents'

/** The number of history entries at first. */
const INITIAL_ENTRIES = 50
/** The largest number of history entries. */
const MAX_ENTRIES = 1000

export interface ScheduleHistory {
  readonly entries: readonly HistoryEntry[]
  /** There are older entries. */
  readonly more: boolean
}

export interface UseScheduleDetailReturn {
  readonly schedule: Resource<ScheduleDetail>
  readonly history: Resource<ScheduleHistory>
  readonly refresh: () => void
  /** Show more entries. */
  readonly showMore: () => void
}

/** Read one schedule and its history, and keep them up to date. */
export function useScheduleDetail(id: () => number): UseScheduleDetailReturn {
  const count = shallowRef(INITIAL_ENTRIES)
  const schedule = useResource((signal) => schedules.get(id(), signal), { key: id })
  const history = useHistory(id, count)

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
  watch(id, () => (count.value = INITIAL_ENTRIES))
  watch(count, history.refresh)

  return {
    schedule,
    history,
    refresh,
    showMore: () => (count.value = Math.min(count.value * 2, MAX_ENTRIES)),
  }
}

function useHistory(id: () => number, count: Ref<number>): Resource<ScheduleHistory> {
  return useResource<ScheduleHistory>(
    async (signal) => {
      const { ticks, next } = await schedules.ticks(id(), count.value, signal)
      const ids = ticks.flatMap((tick) => newestJobOf(tick) ?? [])
      const jobs = ids.length === 0 ? [] : (await client.jobs.list({ job_ids: ids }, signal)).jobs
      return { entries: historyOf(ticks, jobs), more: next !== null && count.value < MAX_ENTRIES }
    },
    { key: id },
  )
}
