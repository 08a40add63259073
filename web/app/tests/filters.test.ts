import { describe, expect, it } from 'vitest'

import {
  filtersOf,
  fits,
  isFiltered,
  NO_FILTERS,
  queryOf,
  questionOf,
  type JobFilters,
} from '@/jobs/filters'

const FULL: JobFilters = {
  states: ['pending', 'failed'],
  type: 'import_csv',
  queue: 'export',
  owner: 'alice',
  size: 100,
  cursor: '77',
}

describe('filters in the address', () => {
  it('come back as they went', () => {
    expect(filtersOf(queryOf(FULL) as Record<string, string>)).toEqual(FULL)
    expect(filtersOf(queryOf(NO_FILTERS) as Record<string, string>)).toEqual(NO_FILTERS)
  })

  it('take no room where they are none', () => {
    expect(queryOf(NO_FILTERS)).toEqual({})
  })

  it('that make no sense are none', () => {
    expect(
      filtersOf({ states: 'asleep,,failed', size: '7', cursor: 'x', type: [null, 'b'] }),
    ).toEqual({
      ...NO_FILTERS,
      states: ['failed'],
    })
  })

  it('are asked of the server without what is empty', () => {
    expect(questionOf(NO_FILTERS)).toEqual({ limit: 50, cursor: null })
    expect(questionOf({ ...FULL, type: ' import_csv ' })).toEqual({
      limit: 100,
      cursor: '77',
      states: ['pending', 'failed'],
      types: ['import_csv'],
      queues: ['export'],
      owner: 'alice',
    })
  })

  it('know whether they leave anything out', () => {
    expect(isFiltered({ ...NO_FILTERS, cursor: '5', size: 25 })).toBe(false)
    expect(isFiltered({ ...NO_FILTERS, owner: 'bob' })).toBe(true)
  })
})

describe('a changed job', () => {
  const job = { state: 'failed', type: 'import_csv', queue: 'export', owner: 'alice' } as const

  it('belongs on a list that it fits', () => {
    expect(fits(job, NO_FILTERS)).toBe(true)
    expect(fits(job, FULL)).toBe(true)
    expect(fits(job, { ...NO_FILTERS, type: 'other, import_csv' })).toBe(true)
  })

  it.each([
    { states: ['started'] as const },
    { type: 'import' },
    { queue: 'mail' },
    { owner: 'bob' },
  ])('does not belong where %o is asked for', (changed) => {
    expect(fits(job, { ...NO_FILTERS, ...changed })).toBe(false)
  })
})
