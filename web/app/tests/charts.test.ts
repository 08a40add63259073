import { describe, expect, it } from 'vitest'

import type { Minute, Overview } from '@/api/model'
import { secondsToClear } from '@/charts/backlog'
import { stacked } from '@/charts/series'

const AT = '2030-01-01T12:00:30Z'

function minute(time: string, finished: number, failed = 0): Minute {
  return {
    minute: `2030-01-01T${time}:00Z`,
    finished,
    failed,
    cancelled: 0,
    mean_pick_up_seconds: 0.1,
    longest_pick_up_seconds: 0.5,
  }
}

it('bars are stacked', () => {
  const series = [
    { label: 'a', color: '', values: [1, 2] },
    { label: 'b', color: '', values: [3, null] },
    { label: 'c', color: '', values: [0, 5] },
  ]
  expect(stacked(series)).toEqual([
    [1, 2],
    [4, 2],
    [4, 7],
  ])
})

describe('the time until the backlog is done', () => {
  const overview = (ready: number, throughput: Minute[]): Overview =>
    ({ at: AT, ready, states: { pending: ready + 999 }, throughput }) as unknown as Overview

  it('is estimated from the jobs that ended in the last ten minutes', () => {
    const seen = overview(50, [minute('11:55', 60), minute('11:56', 30, 10), minute('11:20', 9999)])
    expect(secondsToClear(seen)).toBe(300)
  })

  it('is not known if no job ended', () => {
    expect(secondsToClear(overview(50, []))).toBeNull()
  })
})
