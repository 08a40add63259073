import { describe, expect, it } from 'vitest'

import { newTimeOf } from '@/jobs/newTime'

describe('the new time of a job', () => {
  it('is a delay, at once if the input is empty', () => {
    expect(newTimeOf('delay', ' 10m ')).toEqual({ delay: '10m' })
    expect(newTimeOf('delay', '')).toEqual({ delay: '0s' })
  })

  it('is a moment with a time zone', () => {
    const local = new Date('2026-11-22T09:00')
    expect(newTimeOf('moment', '2026-11-22T09:00')).toEqual({ run_at: local.toISOString() })
  })

  it('is undefined for an invalid input', () => {
    expect(newTimeOf('delay', 'tomorrow')).toBeUndefined()
    expect(newTimeOf('moment', 'soon')).toBeUndefined()
    expect(newTimeOf('moment', '')).toBeUndefined()
  })
})
