import { describe, expect, it } from 'vitest'

import type { AuditEntry, HistorySeries } from '@/api/model'
import { hoursOf, markText, marksOf } from '@/views/now/day'

const entry = (part: Partial<AuditEntry>): AuditEntry => ({
  id: 1,
  at: '2026-11-24T12:00:00Z',
  actor: 'ann',
  action: 'queue.pause',
  target: 'mail',
  target_name: null,
  outcome: 'done',
  note: null,
  channel: 'cli',
  before: null,
  after: null,
  ...part,
})

describe('the marks of a day', () => {
  it('are what was done, by name', () => {
    const marks = marksOf([
      entry({ action: 'node.died', target: 'left' }),
      entry({ action: 'schedule.pause', target: '7', target_name: 'nightly' }),
      entry({ outcome: 'ERROR_INTERNAL' }),
      entry({ action: 'job.start' }),
    ])
    expect(marks.map(markText)).toEqual(['Node died: Node left', 'Paused: Schedule nightly'])
    expect(marks[0]?.time).toBe(Date.parse('2026-11-24T12:00:00Z') / 1000)
  })
})

describe('the hours of a day', () => {
  it('add up what ended and have the most that waited; a gap is none', () => {
    const history = {
      start: '2026-11-24T12:40:00Z',
      step_seconds: 600,
      seconds: [600, 600, 0],
      finished: [1, 2, null],
      failed: [0, 1, null],
      waiting: [5, 3, null],
    } as unknown as HistorySeries
    expect(
      hoursOf(history).map(({ finished, failed, waiting }) => [finished, failed, waiting]),
    ).toEqual([
      [3, 1, 5],
      [0, 0, null],
    ])
  })
})
