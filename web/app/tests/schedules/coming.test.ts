import { describe, expect, it } from 'vitest'

import { comingTimes } from '@/schedules/coming'

describe('the coming times of a schedule', () => {
  it('are its next runs and the times that will be skipped, in order', () => {
    const times = comingTimes({
      next_runs: ['2030-01-02T00:00:00Z', '2030-01-05T00:00:00Z'],
      next_skips: [
        {
          nominal_time: '2030-01-03T00:00:00Z',
          until: '2030-01-04T00:00:00Z',
          count: 2,
          reason: 'excluded',
        },
        {
          nominal_time: '2030-01-01T00:00:00Z',
          until: '2030-01-01T00:00:00Z',
          count: 1,
          reason: 'requested',
        },
      ],
    })
    expect(times.map(({ moment, skipped }) => [moment.slice(0, 10), skipped])).toEqual([
      ['2030-01-01', 'skipped on request'],
      ['2030-01-02', null],
      ['2030-01-03', 'excluded by the calendar'],
      ['2030-01-05', null],
    ])
    expect(times.map(({ until }) => until)).toEqual([null, null, '2030-01-04T00:00:00Z', null])
  })
})
