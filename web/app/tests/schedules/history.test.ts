import { describe, expect, it } from 'vitest'

import type { Tick } from '@/api/schedules'
import { historyOf, runBars } from '@/schedules/history'
import { policyText, reasonText } from '@/schedules/reasons'
import { at, jobOf } from '../jobFixtures'

function tick(hour: number, more: Partial<Tick> = {}): Tick {
  const time = at(hour * 3600)
  return {
    nominal_time: time,
    until: time,
    count: 1,
    decision: 'fired',
    reason: 'on_time',
    job_id: null,
    retried_as: null,
    decided_on: time,
    decided_by: 'n1',
    waiting_reason: null,
    waiting_reason_sentence: null,
    ...more,
  }
}

/** The decisions and reasons that the server may write (`domain/tick.py`). */
const REASONS = {
  fired: ['on_time', 'late', 'catch_up', 'buffered', 'retry', 'manual'],
  coalesced: ['late', 'catch_up', 'overlap'],
  skipped: ['overlap', 'paused', 'altered', 'deployment_gone'],
  missed: ['limit', 'window', 'catch_up_none'],
}

describe('the reason for a decision', () => {
  it.each(
    Object.entries(REASONS).flatMap(([decision, reasons]) =>
      reasons.map((reason) => [decision, reason] as const),
    ),
  )('has a text for %s, %s', (decision, reason) => {
    expect(reasonText({ decision, reason, count: 1 })).toMatch(/^[A-Z].*\.$/)
  })

  it('has one text for several consecutive times', () => {
    expect(reasonText({ decision: 'skipped', reason: 'paused', count: 14 })).toBe(
      '14 times in a row. Not started: the schedule was paused.',
    )
  })

  it('falls back to the text of the server', () => {
    expect(reasonText({ decision: 'fired', reason: 'full_moon', count: 1 })).toBe(
      'fired: full moon',
    )
    expect(policyText('sometimes', 'last')).toBe(
      'sometimes; one late run replaces all missed times',
    )
  })
})

describe('the history of a schedule', () => {
  const jobs = [
    jobOf(7, 'failed', { started_on: at(0), finished_on: at(30) }),
    jobOf(8, 'rows-3', { started_on: at(0) }),
  ]

  it('shows the outcome of the run, or the decision if there was no run', () => {
    const history = historyOf(
      [
        tick(4, { job_id: 8 }),
        tick(3, { decision: 'skipped', reason: 'paused' }),
        tick(2, { job_id: 7 }),
        tick(1, { job_id: 99 }),
      ],
      jobs,
    )
    expect(history.map(({ outcome, seconds }) => [outcome, seconds])).toEqual([
      ['started', null],
      ['skipped', null],
      ['failed', 30],
      ['fired', null],
    ])
  })

  it('has bars, oldest first, the longest run highest, and each high enough to be seen', () => {
    const long = jobOf(9, 'finished', { started_on: at(0), finished_on: at(3000) })
    const history = historyOf([tick(2, { job_id: 9 }), tick(1, { job_id: 7 })], [...jobs, long])
    expect(runBars(history).map(({ height }) => height)).toEqual([12, 100])
    expect(runBars(history, 1)).toHaveLength(1)
  })
})
