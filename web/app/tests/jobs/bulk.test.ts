import { HoraeError, type JobDetail } from '@horae/vue'
import { describe, expect, it, vi } from 'vitest'

import { client } from '@/api/server'
import { BULK_ACTIONS, runForEach, resultText } from '@/jobs/bulk'
import { jobOf } from '../jobFixtures'

describe('an action on many jobs', () => {
  it('runs for each job, a few at a time', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => index)
    const done: number[] = []
    let busy = 0
    let busiest = 0
    const result = await runForEach(ids, async (id) => {
      busiest = Math.max(busiest, ++busy)
      await Promise.resolve()
      busy -= 1
      done.push(id)
    })
    expect(done.sort((left, right) => left - right)).toEqual(ids)
    expect(busiest).toBe(4)
    expect(result).toEqual({ done: 30, failures: new Map() })
  })

  it('continues after failures, and reports the reasons', async () => {
    const result = await runForEach([1, 2, 3, 4], (id) => {
      if (id === 2) return Promise.reject(new HoraeError(400, 'ERROR_JOB_NOT_CANCELLABLE', ''))
      if (id === 3) return Promise.reject(new TypeError('network'))
      return Promise.resolve()
    })
    expect(resultText(result, { name: 'cancel' })).toBe(
      '2 jobs cancelled. 1 job not cancelled: Cannot be cancelled: The job has already ended. ' +
        '1 job not cancelled: Action failed: network.',
    )
  })

  it('reports which jobs another node has to delete', async () => {
    const remove = BULK_ACTIONS.find(({ name }) => name === 'delete')
    const asked = vi.spyOn(client.jobs, 'delete')
    asked.mockImplementation((id) =>
      Promise.resolve(id === 2 ? (jobOf(2, 'failed') as JobDetail) : undefined),
    )
    const result = await runForEach(
      [1, 2],
      remove?.run ?? (() => Promise.reject(new Error('none'))),
    )
    expect(resultText(result, { name: 'delete' })).toBe(
      '1 job deleted. 1 job not deleted: Action failed: this server does not know the job type; ' +
        'a node that knows it will delete the job.',
    )
    asked.mockRestore()
  })

  it('is offered only for jobs in the right states', () => {
    const offered = (state: string): string[] =>
      BULK_ACTIONS.filter((action) => action.applies(jobOf(1, state))).map(({ name }) => name)
    expect(offered('copying-rows')).toEqual(['cancel'])
    expect(offered('failed')).toEqual(['retry', 'delete'])
    expect(offered('finished')).toEqual(['delete'])
  })
})
