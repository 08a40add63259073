import { JOB_STATES, type JobQuery, type JobState } from '@horae/vue'
import type { LocationQuery, LocationQueryRaw } from 'vue-router'

import { orderOf, serverOrder, type JobOrder } from './order'
import { termsOf, termText, valuesOf } from './query/terms'

export const PAGE_SIZES = [25, 50, 100, 200] as const
const DEFAULT_SIZE = 50

/** Which jobs a list shows. The filters are part of the page's address, so that a link to the list can be shared. */
export interface JobFilters {
  /** A query such as `state:failed customer:4711`, in the words of the API. */
  readonly query: string
  readonly order: JobOrder
  readonly size: number
  readonly cursor: string | null
}

export const NO_FILTERS: JobFilters = {
  query: '',
  order: 'newest',
  size: DEFAULT_SIZE,
  cursor: null,
}

/** The zone of the days in a query: that of the reader. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** Parse the filters from an address. Invalid values are ignored. */
export function filtersOf(query: LocationQuery): JobFilters {
  const text = (name: string): string => {
    const value = query[name]
    return (Array.isArray(value) ? value[0] : value) ?? ''
  }
  return {
    query: [text('query') || text('q'), ...termsOfParameters(text)]
      .filter((part) => part !== '')
      .join(' '),
    order: orderOf(text('order')),
    size: PAGE_SIZES.find((size) => String(size) === text('size')) ?? DEFAULT_SIZE,
    cursor: /^\d{1,18}(\.\d{1,18})?$/.test(text('cursor')) ? text('cursor') : null,
  }
}

/** Return the terms for the parameters of addresses that other pages link to, such as `?queue=mail&states=pending`. */
function termsOfParameters(text: (name: string) => string): string[] {
  const states = namesOf(text('states')).filter((name) => JOB_STATES.some((each) => each === name))
  const lists = { state: states, type: namesOf(text('type')), queue: namesOf(text('queue')) }
  const terms = Object.entries(lists)
    .filter(([, names]) => names.length > 0)
    .map(([field, names]) => termText(field, names))
  if (text('owner') !== '') terms.push(termText('owner', [text('owner')]))
  if (/^\d{1,18}$/.test(text('group'))) terms.push(`group:${text('group')}`)
  return terms
}

/** Convert filters to the query of an address, without default values. */
export function routeQueryOf(filters: JobFilters): LocationQueryRaw {
  const { query, order, size, cursor } = filters
  return {
    ...(query !== '' && { query }),
    ...(order !== 'newest' && { order }),
    ...(size !== DEFAULT_SIZE && { size: String(size) }),
    ...(cursor !== null && { cursor }),
  }
}

/** Convert filters to a query for the server. */
export function jobQueryOf({ query, order, size, cursor }: JobFilters): JobQuery {
  const ofServer = serverOrder(order)
  return {
    ...(query.trim() !== '' && { query: query.trim(), timezone: TIME_ZONE }),
    ...(ofServer !== 'newest' && { order: ofServer }),
    limit: size,
    cursor,
  }
}

/** Return the names in a text, which are separated by commas. */
function namesOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Return the search for the jobs with a tag. */
export function tagQuery(tag: string): string {
  return termText('tag', [tag])
}

export function isFiltered({ query }: JobFilters): boolean {
  return query.trim() !== ''
}

/** What of a job this page compares with a query. */
export interface ComparedJob {
  readonly state: JobState
  readonly type: string
  readonly queue: string
  readonly owner: string | null
  readonly group_id?: number | null
}

/**
 * Whether a job matches a query, as far as the page can tell: null if only the server can evaluate it.
 */
export function matches(job: ComparedJob, query: string): boolean | null {
  const known: Record<string, string | null> = {
    state: job.state,
    type: job.type,
    queue: job.queue,
    owner: job.owner,
    group: job.group_id ? String(job.group_id) : null,
  }
  let uncertain = false
  for (const term of termsOf(query)) {
    const field = term.field ?? ''
    const values = valuesOf(term)
    if (!(field in known) || values === null || term.operator !== ':') uncertain = true
    else if (values.includes(known[field] ?? '') === term.negated) return false
  }
  return uncertain ? null : true
}
