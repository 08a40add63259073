import type { JobState } from '@horae/vue'
import { describe, expect, it } from 'vitest'

import { TIME_ZONE } from '@/jobs/filters'
import { MATCHING_ACTIONS, matchingBody, reachesAny } from '@/jobs/matching'

describe('the change of all matching jobs', () => {
  it('has the query of the list, or says that it means all jobs', () => {
    expect(matchingBody('', null)).toEqual({ all: true })
    expect(matchingBody(' state:failed ', null)).toEqual({
      query: 'state:failed',
      timezone: TIME_ZONE,
    })
    expect(matchingBody('tag:vip', { delay: '10m' })).toMatchObject({ delay: '10m' })
  })

  it('is offered where it can reach a job', () => {
    const offered = (states: readonly JobState[]): readonly string[] =>
      MATCHING_ACTIONS.filter((change) => reachesAny(change, states))
    expect(offered(['failed'])).toEqual(['retry', 'delete'])
    expect(offered(['started'])).toEqual(['cancel'])
    expect(offered(['pending', 'finished'])).toEqual(['cancel', 'reschedule', 'delete'])
    expect(offered([])).toEqual(MATCHING_ACTIONS)
  })
})
