import type { Ref } from 'vue'

import { schedules, type SchedulePage, type ScheduleQuery } from '@/api/schedules'
import { useEvents } from '@/refresh/useEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useThrottled } from '@/refresh/useThrottled'
import { matches, newestOf } from './filters'
import { parseScheduleEvent } from './scheduleEvents'

/** Read the page of schedules that matches the query, and keep it up to date by events and polling. */
export function useScheduleList(query: Ref<ScheduleQuery>): Resource<SchedulePage> {
  const list: Resource<SchedulePage> = useResource(
    async (signal) => {
      const page = await schedules.list({ ...query.value, limit: 50, failingFirst: true }, signal)
      const known = list.data.value?.schedules ?? []
      return { ...page, schedules: page.schedules.map((row) => newestOf(row, known)) }
    },
    { key: () => JSON.stringify(query.value), keepData: true },
  )
  const refreshSoon = useThrottled(list.refresh)

  useEvents((event) => {
    const { schedule, gone, missed } = parseScheduleEvent(event)
    const page = list.data.value
    if (missed) refreshSoon()
    if (page === null) return
    const rows = page.schedules
    if (schedule !== null) {
      const isShown = rows.some(({ id }) => id === schedule.id)
      const belongs = matches(schedule, query.value)
      if (isShown) {
        list.set({
          ...page,
          schedules: rows.map((row) => (row.id === schedule.id ? schedule : row)),
        })
      }
      if (isShown !== belongs) refreshSoon()
    }
    if (gone !== null) list.set({ ...page, schedules: rows.filter(({ id }) => id !== gone) })
  })
  return list
}
