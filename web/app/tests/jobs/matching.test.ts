import { describe, expect, it } from 'vitest'

import { TIME_ZONE } from '@/jobs/filters'
import { matchingBody, matchingText } from '@/jobs/matching'

describe('the change of all matching jobs', () => {
  it('has the query of the list, or says that it means all jobs', () => {
    expect(matchingBody('', null)).toEqual({ all: true })
    expect(matchingBody(' state:failed ', null)).toEqual({
      query: 'state:failed',
      timezone: TIME_ZONE,
    })
    expect(matchingBody('tag:vip', { delay: '10m' })).toMatchObject({ delay: '10m' })
  })

  it('says how many jobs it would change', () => {
    expect(matchingText({ count: 1, complete: true })).toBe('1 job')
    expect(matchingText({ count: 2000, complete: false })).toMatch(/^at least 2.000 jobs$/)
  })
})
