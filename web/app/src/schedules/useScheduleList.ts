import type { Ref } from 'vue'

import { schedules, type SchedulePage, type ScheduleQuery } from '@/api/schedules'
import { useEvents } from '@/refresh/useEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useSoon } from '@/refresh/useSoon'
import { isWanted, newestOf } from './filters'
import { newsOf } from './news'

/** The page of schedules that is asked for, kept up to date by events and by looking again. */
export function useScheduleList(query: Ref<ScheduleQuery>): Resource<SchedulePage> {
  const list: Resource<SchedulePage> = useResource(
    async (signal) => {
      const page = await schedules.list(query.value, signal)
      const known = list.data.value?.schedules ?? []
      return { ...page, schedules: page.schedules.map((row) => newestOf(row, known)) }
    },
    { subject: () => JSON.stringify(query.value), keep: true },
  )
  const readSoon = useSoon(list.refresh)

  useEvents((event) => {
    const { schedule, gone, missed } = newsOf(event)
    const page = list.data.value
    if (missed) readSoon()
    if (page === null) return
    const rows = page.schedules
    if (schedule !== null) {
      const shown = rows.some(({ id }) => id === schedule.id)
      const wanted = isWanted(schedule, query.value)
      if (shown) {
        list.put({
          ...page,
          schedules: rows.map((row) => (row.id === schedule.id ? schedule : row)),
        })
      }
      if (shown !== wanted) readSoon()
    }
    if (gone !== null) list.put({ ...page, schedules: rows.filter(({ id }) => id !== gone) })
  })
  return list
}
