import { computed, shallowRef, watch, type Ref } from 'vue'

import { schedules, type Lane, type LaneList } from '@/api/schedules'
import { useEvents } from '@/refresh/useEvents'
import { useResource } from '@/refresh/useResource'
import { useThrottled } from '@/refresh/useThrottled'
import { parseScheduleEvent } from './scheduleEvents'

/** The server answers for so many schedules at once. */
const MOST = 100

export interface UseLanesReturn {
  readonly lanes: Readonly<Ref<LaneList | null>>
  readonly laneOf: (id: number) => Lane | undefined
}

/** Read the lanes of the schedules of a page in one request, again when one of them has changed. */
export function useLanes(ids: Ref<readonly number[]>, hours: Ref<number>): UseLanesReturn {
  const wanted = computed(() => ids.value.slice(0, MOST))
  const every = shallowRef(30)
  const { data, refresh } = useResource<LaneList | null>(
    (signal) =>
      wanted.value.length === 0
        ? Promise.resolve(null)
        : schedules.lanes(wanted.value, hours.value, signal),
    { key: () => `${wanted.value.join()} ${hours.value}`, keepData: true, seconds: every },
  )
  const refreshSoon = useThrottled(refresh, 5000)
  useEvents((event) => {
    const { schedule, missed } = parseScheduleEvent(event)
    if (missed || (schedule !== null && wanted.value.includes(schedule.id))) refreshSoon()
  })
  const byId = shallowRef(new Map<number, Lane>())
  watch(data, (list) => {
    byId.value = new Map((list?.lanes ?? []).map((lane) => [lane.schedule_id, lane]))
  })
  return { lanes: data, laneOf: (id) => byId.value.get(id) }
}
