import { shallowRef, watch, type Ref } from 'vue'

import { schedules, type ScheduleDetail } from '@/api/schedules'
import { client } from '@/api/server'
import { useEvents } from '@/refresh/useEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useSoon } from '@/refresh/useSoon'
import { newestOf } from './filters'
import { historyOf, type Happening } from './history'
import { newsOf } from './news'

const FIRST = 50
const MOST = 1000

export interface ScheduleHistory {
  readonly happenings: readonly Happening[]
  /** There are older ones. */
  readonly more: boolean
}

export interface UseScheduleStoryReturn {
  readonly schedule: Resource<ScheduleDetail>
  readonly history: Resource<ScheduleHistory>
  readonly refresh: () => void
  /** Show older happenings as well. */
  readonly showMore: () => void
}

/** One schedule and what became of its times, live. */
export function useScheduleStory(id: () => number): UseScheduleStoryReturn {
  const count = shallowRef(FIRST)
  const schedule = useResource((signal) => schedules.get(id(), signal), { subject: id })
  const history = useHistory(id, count)

  function refresh(): void {
    schedule.refresh()
    history.refresh()
  }

  const readSoon = useSoon(refresh)
  useEvents((event) => {
    const news = newsOf(event)
    if (news.missed || news.gone === id()) readSoon()
    if (news.schedule?.id !== id()) return
    // What only its own page shows, as the next times, is read; the rest is shown at once.
    const seen = schedule.data.value
    if (seen !== null) schedule.put({ ...seen, ...newestOf(news.schedule, [seen]) })
    readSoon()
  })
  watch(id, () => (count.value = FIRST))
  watch(count, history.refresh)

  return {
    schedule,
    history,
    refresh,
    showMore: () => (count.value = Math.min(count.value * 2, MOST)),
  }
}

function useHistory(id: () => number, count: Ref<number>): Resource<ScheduleHistory> {
  return useResource<ScheduleHistory>(
    async (signal) => {
      const { ticks, next } = await schedules.ticks(id(), count.value, signal)
      const ids = ticks.flatMap((tick) => tick.job_id ?? [])
      const jobs = ids.length === 0 ? [] : (await client.jobs.list({ job_ids: ids }, signal)).jobs
      return { happenings: historyOf(ticks, jobs), more: next !== null && count.value < MOST }
    },
    { subject: id },
  )
}
