import { JOB_STATES, type JobQuery, type JobState } from '@horae/vue'
import type { LocationQuery, LocationQueryRaw } from 'vue-router'

export const PAGE_SIZES = [25, 50, 100, 200] as const
const DEFAULT_SIZE = 50

/** Which jobs a list shows. The filters are part of the page's address, so that a link to the list can be shared. */
export interface JobFilters {
  /** A search such as `tag:vip params.customer_id:4711`. */
  readonly search: string
  readonly states: readonly JobState[]
  readonly type: string
  readonly queue: string
  readonly owner: string
  /** The id of a group, whose members are listed. */
  readonly group: string
  readonly size: number
  readonly cursor: string | null
}

export const NO_FILTERS: JobFilters = {
  search: '',
  states: [],
  type: '',
  queue: '',
  owner: '',
  group: '',
  size: DEFAULT_SIZE,
  cursor: null,
}

/** Parse the filters from an address. Invalid values are ignored. */
export function filtersOf(query: LocationQuery): JobFilters {
  const text = (name: string): string => {
    const value = query[name]
    return (Array.isArray(value) ? value[0] : value) ?? ''
  }
  const names = text('states').split(',')
  return {
    search: text('q'),
    states: JOB_STATES.filter((state) => names.includes(state)),
    type: text('type'),
    queue: text('queue'),
    owner: text('owner'),
    group: /^\d{1,18}$/.test(text('group')) ? text('group') : '',
    size: PAGE_SIZES.find((size) => String(size) === text('size')) ?? DEFAULT_SIZE,
    cursor: /^\d{1,18}$/.test(text('cursor')) ? text('cursor') : null,
  }
}

/** Convert filters to the query of an address, without default values. */
export function routeQueryOf(filters: JobFilters): LocationQueryRaw {
  const { search, states, type, queue, owner, group, size, cursor } = filters
  return {
    ...(search !== '' && { q: search }),
    ...(states.length > 0 && { states: states.join(',') }),
    ...(type !== '' && { type }),
    ...(queue !== '' && { queue }),
    ...(owner !== '' && { owner }),
    ...(group !== '' && { group }),
    ...(size !== DEFAULT_SIZE && { size: String(size) }),
    ...(cursor !== null && { cursor }),
  }
}

/** Convert filters to a query for the server. Type and queue may each be several names, separated by commas. */
export function jobQueryOf(filters: JobFilters): JobQuery {
  const { search, states, type, queue, owner, group, size, cursor } = filters
  return {
    ...(search.trim() !== '' && { q: search.trim() }),
    limit: size,
    cursor,
    ...(states.length > 0 && { states }),
    ...(type.trim() !== '' && { types: [type.trim()] }),
    ...(queue.trim() !== '' && { queues: [queue.trim()] }),
    ...(owner.trim() !== '' && { owner: owner.trim() }),
    ...(group !== '' && { group_id: Number(group) }),
  }
}

/** Return the names in a text, which are separated by commas. */
export function namesOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Return the search for the jobs with a tag. */
export function tagQuery(tag: string): string {
  return /^[\w-]+$/.test(tag) ? `tag:${tag}` : `tag:"${tag.replaceAll(/["\\]/g, '\\$&')}"`
}

export function isFiltered({ search, states, type, queue, owner, group }: JobFilters): boolean {
  return states.length > 0 || [search, type, queue, owner, group].some((text) => text !== '')
}

/** Whether a job matches the filters. Only the server can evaluate a search, so no job matches one here. */
export function matches(
  job: {
    state: JobState
    type: string
    queue: string
    owner: string | null
    group_id?: number | null
  },
  filters: JobFilters,
): boolean {
  const isListed = (wanted: string, value: string): boolean =>
    wanted.trim() === '' || namesOf(wanted).includes(value)
  return (
    filters.search.trim() === '' &&
    (filters.states.length === 0 || filters.states.includes(job.state)) &&
    isListed(filters.type, job.type) &&
    isListed(filters.queue, job.queue) &&
    (filters.group === '' || Number(filters.group) === job.group_id) &&
    (filters.owner.trim() === '' || filters.owner.trim() === job.owner)
  )
}
