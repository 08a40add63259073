import { describe, expect, it } from 'vitest'

import { localInput } from '@/format/moment'
import { hasNominalTimes, lastDay, previewText, rangeOf } from '@/schedules/backfill'

const found = { times: 0, added: 0, known: 0, excluded: 0, first: null, last: null }

describe('a backfill', () => {
  it('is for schedules with nominal times', () => {
    const of = (kind: 'cron' | 'interval', text: string): boolean =>
      hasNominalTimes({ trigger: { kind, text } })
    expect(of('cron', '0 3 * * *')).toBe(true)
    expect(of('interval', '10m; fixed')).toBe(true)
    expect(of('interval', '10m; fixed; initial_start=2030-01-01T00:00:00+00:00')).toBe(true)
    expect(of('interval', '10m')).toBe(false)
  })

  it('has a range in the local time zone', () => {
    const start = new Date('2026-11-22T09:00')
    const end = new Date('2026-11-23T09:00')
    expect(rangeOf('2026-11-22T09:00', '2026-11-23T09:00')).toEqual({
      start: start.toISOString(),
      end: end.toISOString(),
    })
    expect(lastDay(end.getTime() + 30_000)).toEqual({
      from: '2026-11-22T09:00',
      to: '2026-11-23T09:00',
    })
    expect(localInput(start.getTime())).toBe('2026-11-22T09:00')
  })

  it('has no range that is empty, ends before it begins or is incomplete', () => {
    expect(rangeOf('2026-11-22T09:00', '2026-11-22T09:00')).toBeUndefined()
    expect(rangeOf('2026-11-23T09:00', '2026-11-22T09:00')).toBeUndefined()
    expect(rangeOf('', '2026-11-22T09:00')).toBeUndefined()
    expect(rangeOf('2026-11-22T09:00', '')).toBeUndefined()
  })

  it('says what it would add', () => {
    expect(previewText({ ...found, added: 1 })).toBe('1 run will be added.')
    expect(previewText({ ...found, added: 3, known: 2, excluded: 1 })).toBe(
      '3 runs will be added; 2 others ran before or wait already; the calendar excludes 1 time.',
    )
    expect(previewText({ ...found, known: 1 })).toBe(
      'There is nothing to run; 1 other ran before or waits already.',
    )
  })
})
