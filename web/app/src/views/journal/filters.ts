import type { LocationQuery } from 'vue-router'

/** Which changes the journal shows. They are part of its address, so that other pages can link to it. */
export interface JournalFilters {
  /** The first part of actions, such as `schedule`. */
  readonly kind: string
  readonly target: string
  readonly actor: string
  readonly channel: string
  /** Moments in UTC, as in the API; empty for none. */
  readonly since: string
  readonly until: string
  readonly cursor: string
}

export const KINDS = [
  'schedule',
  'queue',
  'job',
  'jobs',
  'group',
  'limit',
  'deployment',
  'node',
  'everything',
] as const
export const CHANNELS = ['dashboard', 'http', 'cli', 'python'] as const

const NAMES = ['kind', 'target', 'actor', 'channel', 'since', 'until', 'cursor'] as const

export const NO_FILTERS: JournalFilters = {
  kind: '',
  target: '',
  actor: '',
  channel: '',
  since: '',
  until: '',
  cursor: '',
}

/** Parse the filters from an address. Invalid values are ignored. */
export function filtersOf(query: LocationQuery): JournalFilters {
  const text = (name: (typeof NAMES)[number]): string => {
    const value = query[name]
    return (Array.isArray(value) ? value[0] : value) ?? ''
  }
  const oneOf = (names: readonly string[], value: string): string =>
    names.includes(value) ? value : ''
  const moment = (value: string): string => (Number.isNaN(Date.parse(value)) ? '' : value)
  return {
    kind: oneOf(KINDS, text('kind')),
    target: text('target').trim(),
    actor: text('actor').trim(),
    channel: oneOf(CHANNELS, text('channel')),
    since: moment(text('since')),
    until: moment(text('until')),
    cursor: /^\d{1,18}$/.test(text('cursor')) ? text('cursor') : '',
  }
}

/** Convert filters to the query of an address, or of a request: both have the same names. */
export function queryOf(filters: JournalFilters): Record<string, string> {
  const query: Record<string, string> = {}
  for (const name of NAMES) if (filters[name] !== '') query[name] = filters[name]
  return query
}

/** Count the filters that are set. */
export function countOf(filters: JournalFilters): number {
  return NAMES.filter((name) => name !== 'cursor' && filters[name] !== '').length
}

export function isFiltered(filters: JournalFilters): boolean {
  return countOf(filters) > 0
}
