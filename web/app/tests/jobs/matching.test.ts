import { describe, expect, it } from 'vitest'

import { NO_FILTERS } from '@/jobs/filters'
import { matchingBody, matchingText } from '@/jobs/matching'

describe('the change of all matching jobs', () => {
  it('has the filters of the list, and no empty ones', () => {
    expect(matchingBody(NO_FILTERS)).toEqual({})
    expect(
      matchingBody({
        ...NO_FILTERS,
        search: ' tag:vip ',
        states: ['failed'],
        type: 'import_csv, export_csv,',
        owner: 'alice',
      }),
    ).toEqual({
      query: 'tag:vip',
      states: ['failed'],
      types: ['import_csv', 'export_csv'],
      owner: 'alice',
    })
  })

  it('says how many jobs it would change', () => {
    expect(matchingText({ count: 1, complete: true })).toBe('1 job')
    expect(matchingText({ count: 2000, complete: false })).toMatch(/^at least 2.000 jobs$/)
  })
})
