import { describe, expect, it } from 'vitest'

import { TIME_ZONE } from '@/jobs/filters'
import { matchingBody } from '@/jobs/matching'

describe('the change of all matching jobs', () => {
  it('has the query of the list, or says that it means all jobs', () => {
    expect(matchingBody('', null)).toEqual({ all: true })
    expect(matchingBody(' state:failed ', null)).toEqual({
      query: 'state:failed',
      timezone: TIME_ZONE,
    })
    expect(matchingBody('tag:vip', { delay: '10m' })).toMatchObject({ delay: '10m' })
  })
})
