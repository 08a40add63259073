import { describe, expect, it } from 'vitest'

import {
  filtersOf,
  isFiltered,
  jobQueryOf,
  matches,
  NO_FILTERS,
  routeQueryOf,
  tagQuery,
  TIME_ZONE,
  type JobFilters,
} from '@/jobs/filters'

const FULL: JobFilters = {
  query: 'tag:vip state:failed since:yesterday',
  order: 'oldest',
  size: 100,
  cursor: '77',
}

describe('filters in the address', () => {
  it('are the same after a round trip', () => {
    expect(filtersOf(routeQueryOf(FULL) as Record<string, string>)).toEqual(FULL)
    expect(filtersOf(routeQueryOf(NO_FILTERS) as Record<string, string>)).toEqual(NO_FILTERS)
  })

  it('are omitted if they have default values', () => {
    expect(routeQueryOf(NO_FILTERS)).toEqual({})
  })

  it('are ignored if they are invalid', () => {
    expect(
      filtersOf({ states: 'asleep,,failed', size: '7', cursor: 'x', type: [null, 'b'] }),
    ).toEqual({ ...NO_FILTERS, query: 'state:failed' })
  })

  it('become one query, whatever another page links to', () => {
    expect(
      filtersOf({
        q: 'tag:vip',
        states: 'pending,failed',
        type: 'import_csv, export',
        queue: 'the mail',
        owner: 'a,b',
        group: '7',
      }).query,
    ).toBe(
      'tag:vip state:pending,failed type:import_csv,export queue:"the mail" owner:"a,b" group:7',
    )
  })

  it('are converted to a query for the server without empty values', () => {
    expect(jobQueryOf(NO_FILTERS)).toEqual({ limit: 50, cursor: null })
    expect(jobQueryOf({ ...FULL, query: ' tag:vip ' })).toEqual({
      query: 'tag:vip',
      timezone: TIME_ZONE,
      order: 'oldest',
      limit: 100,
      cursor: '77',
    })
  })

  it('are recognized only if they exclude jobs', () => {
    expect(isFiltered({ ...NO_FILTERS, cursor: '5', size: 25 })).toBe(false)
    expect(isFiltered({ ...NO_FILTERS, query: 'owner:bob' })).toBe(true)
  })
})

describe('a changed job', () => {
  const job = {
    state: 'failed',
    type: 'import_csv',
    queue: 'export',
    owner: 'alice',
    group_id: 7,
  } as const

  it.each(['', 'state:pending,failed type:import_csv', 'group:7 owner:"alice"', '-queue:mail'])(
    'belongs on a list whose query it matches: %s',
    (query) => {
      expect(matches(job, query)).toBe(true)
    },
  )

  it.each([
    'state:started',
    'type:import',
    'queue:mail tag:vip',
    'owner:bob',
    'group:8',
    '-type:import_csv',
  ])('does not belong on a list with the query %s', (query) => {
    expect(matches(job, query)).toBe(false)
  })

  it.each(['tag:vip', 'import_csv', 'type:import*', 'created>today', 'state:failed error:x'])(
    'may belong on a list with a query that only the server evaluates: %s',
    (query) => {
      expect(matches(job, query)).toBe(null)
    },
  )
})

describe('the search for a tag', () => {
  it('quotes what is not a word', () => {
    expect(tagQuery('vip')).toBe('tag:vip')
    expect(tagQuery('a "b" c\\')).toBe('tag:"a \\"b\\" c\\\\"')
    expect(tagQuery('4711')).toBe('tag:"4711"')
  })
})
