import type { Job } from '@horae/vue'
import { describe, expect, it } from 'vitest'

import {
  orderAfter,
  orderOf,
  serverOrder,
  sortedJobs,
  sortOrderOf,
  sortsPageOnly,
  type SortKey,
} from '@/jobs/order'

describe('the order of a list of jobs', () => {
  it('is that of the server, or of a column', () => {
    expect(['oldest', 'last_ended', 'duration', '-queue'].map(orderOf)).toEqual([
      'oldest',
      'last_ended',
      'duration',
      '-queue',
    ])
    expect(['', 'size', '-', '-newest', 'created'].map(orderOf)).toEqual(Array(5).fill('newest'))
    expect([serverOrder('-queue'), serverOrder('first_ended')]).toEqual(['newest', 'first_ended'])
  })

  it('sorts the page alone where the server has no index', () => {
    expect(sortOrderOf('-duration')).toEqual({ by: 'duration', reversed: true })
    expect(sortOrderOf('last_ended')).toEqual({ by: 'ended', reversed: false })
    expect(
      ['duration', 'queue', 'ended', 'created'].map((key) => sortsPageOnly(key as SortKey)),
    ).toEqual([true, true, false, false])
  })

  it('is turned round by a second press on a header', () => {
    const newest = { by: 'created', reversed: false } as const
    expect(orderAfter('created', newest)).toBe('oldest')
    expect(orderAfter('created', { by: 'created', reversed: true })).toBe('newest')
    expect(orderAfter('ended', newest)).toBe('last_ended')
    expect(orderAfter('ended', { by: 'ended', reversed: false })).toBe('first_ended')
    expect(orderAfter('queue', newest)).toBe('queue')
    expect(orderAfter('queue', { by: 'queue', reversed: false })).toBe('-queue')
  })

  it('has the jobs without a value last', () => {
    const job = (id: number, started: string | null, finished: string | null): Job =>
      ({ id, state: 'finished', started_on: started, finished_on: finished }) as unknown as Job
    const jobs = [
      job(1, null, null),
      job(2, '2026-11-01T00:00:00Z', '2026-11-01T00:00:05Z'),
      job(3, '2026-11-01T00:00:00Z', '2026-11-01T00:01:00Z'),
    ]
    const ids = (reversed: boolean): number[] =>
      sortedJobs(jobs, { by: 'duration', reversed }, 0).map(({ id }) => id)
    expect(ids(false)).toEqual([3, 2, 1])
    expect(ids(true)).toEqual([2, 3, 1])
    expect(sortedJobs(jobs, { by: 'created', reversed: true }, 0)).toBe(jobs)
  })
})
