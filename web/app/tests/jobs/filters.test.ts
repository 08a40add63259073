import { describe, expect, it } from 'vitest'

import {
  filtersOf,
  matches,
  isFiltered,
  NO_FILTERS,
  routeQueryOf,
  tagQuery,
  jobQueryOf,
  type JobFilters,
} from '@/jobs/filters'

const FULL: JobFilters = {
  search: 'tag:vip',
  states: ['pending', 'failed'],
  type: 'import_csv',
  queue: 'export',
  owner: 'alice',
  group: '7',
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
    ).toEqual({
      ...NO_FILTERS,
      states: ['failed'],
    })
  })

  it('are converted to a query for the server without empty values', () => {
    expect(jobQueryOf(NO_FILTERS)).toEqual({ limit: 50, cursor: null })
    expect(jobQueryOf({ ...FULL, type: ' import_csv ' })).toEqual({
      limit: 100,
      cursor: '77',
      q: 'tag:vip',
      states: ['pending', 'failed'],
      types: ['import_csv'],
      queues: ['export'],
      owner: 'alice',
      group_id: 7,
    })
  })

  it('are recognized only if they exclude jobs', () => {
    expect(isFiltered({ ...NO_FILTERS, cursor: '5', size: 25 })).toBe(false)
    expect(isFiltered({ ...NO_FILTERS, owner: 'bob' })).toBe(true)
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

  it('belongs on a list whose filters it matches', () => {
    expect(matches(job, NO_FILTERS)).toBe(true)
    expect(matches(job, { ...FULL, search: '' })).toBe(true)
    expect(matches(job, { ...NO_FILTERS, type: 'other, import_csv' })).toBe(true)
  })

  it.each([
    { states: ['started'] as const },
    { type: 'import' },
    { queue: 'mail' },
    { owner: 'bob' },
    { search: 'import_csv' },
    { group: '8' },
  ])('does not belong on a list with the filter %o', (changed) => {
    expect(matches(job, { ...NO_FILTERS, ...changed })).toBe(false)
  })
})

describe('the search for a tag', () => {
  it('quotes what is not a word', () => {
    expect(tagQuery('vip')).toBe('tag:vip')
    expect(tagQuery('a "b" c\\')).toBe('tag:"a \\"b\\" c\\\\"')
  })
})
