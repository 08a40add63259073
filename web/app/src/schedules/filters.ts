import type { LocationQuery, LocationQueryRaw } from 'vue-router'

import type { LedgerQuery, Schedule, ScheduleQuery } from '@/api/schedules'

/** Parse the filters from an address. Invalid values are ignored. */
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

/** Convert filters to the query of an address, without default values. */
export function routeQueryOf({ name, enabled, cursor }: ScheduleQuery): LocationQueryRaw {
  return {
    ...(name !== null && { name }),
    ...(enabled !== null && { enabled: String(enabled) }),
    ...(cursor !== null && { cursor }),
  }
}

const DECISIONS = /^(fired|coalesced|skipped|missed)(,(fired|coalesced|skipped|missed))*$/

/** Parse which part of a ledger an address names. Invalid values are ignored. */
export function ledgerQueryOf(query: LocationQuery): LedgerQuery {
  const { before, decisions } = query
  const isMoment = typeof before === 'string' && !Number.isNaN(Date.parse(before))
  return {
    before: isMoment ? before : null,
    decisions: typeof decisions === 'string' && DECISIONS.test(decisions) ? decisions : null,
  }
}

/** Return the newer version of a schedule: a response may be older than an event that arrived during the request. */
export function newestOf(schedule: Schedule, known: readonly Schedule[]): Schedule {
  const row = known.find(({ id }) => id === schedule.id)
  return row !== undefined && row.version > schedule.version ? row : schedule
}

/** Whether a schedule matches the filters. */
export function matches(schedule: Schedule, { name, enabled }: ScheduleQuery): boolean {
  if (enabled !== null && schedule.enabled !== enabled) return false
  return name === null || schedule.name.toLowerCase().includes(name.toLowerCase())
}
