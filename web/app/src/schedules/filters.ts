import type { LocationQuery, LocationQueryRaw } from 'vue-router'

import type { Schedule, ScheduleQuery } from '@/api/schedules'

/** Read an address; what cannot be understood is no filter. */
export function scheduleQueryOf(query: LocationQuery): ScheduleQuery {
  const text = (name: string): string | null => {
    const value = query[name]
    const first = (Array.isArray(value) ? value[0] : value) ?? ''
    return first === '' ? null : first
  }
  const enabled = text('enabled')
  const cursor = text('cursor')
  return {
    name: text('name')?.slice(0, 200) ?? null,
    enabled: enabled === 'true' ? true : enabled === 'false' ? false : null,
    cursor: cursor !== null && /^[\w-]+$/.test(cursor) ? cursor : null,
  }
}

/** The address of a question, as short as can be. */
export function addressOf({ name, enabled, cursor }: ScheduleQuery): LocationQueryRaw {
  return {
    ...(name !== null && { name }),
    ...(enabled !== null && { enabled: String(enabled) }),
    ...(cursor !== null && { cursor }),
  }
}

/** An answer may be older than an event that came while it travelled. */
export function newestOf(schedule: Schedule, known: readonly Schedule[]): Schedule {
  const row = known.find(({ id }) => id === schedule.id)
  return row !== undefined && row.version > schedule.version ? row : schedule
}

/** Whether a list that was asked for so shows the schedule, on this page or on another. */
export function isWanted(schedule: Schedule, { name, enabled }: ScheduleQuery): boolean {
  if (enabled !== null && schedule.enabled !== enabled) return false
  return name === null || schedule.name.toLowerCase().includes(name.toLowerCase())
}
