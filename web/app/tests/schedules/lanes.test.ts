import { describe, expect, it } from 'vitest'

import type { Lane, LaneList, Why } from '@/api/schedules'
import { laneCounts, laneItems, momentAt, sparkline } from '@/schedules/lanes'
import { whyText } from '@/schedules/whyText'
import { de } from '@/texts/de'
import { en } from '@/texts/en'
import { language } from '@/texts/locale'

const LIST = {
  start_on: '2026-11-23T00:00:00Z',
  now: '2026-11-24T00:00:00Z',
  end_on: '2026-11-24T03:00:00Z',
  lanes: [],
} as unknown as LaneList
const LANE = {
  schedule_id: 1,
  marks: [
    mark('2026-11-23T13:30:00Z', 'ran', 2),
    mark('2026-11-23T00:00:00Z', 'failed'),
    mark('2026-11-23T13:30:00Z', 'failed'),
  ],
  complete_from: null,
  coming: ['2026-11-24T02:00:00Z'],
  durations: [1, 2, 4],
} as unknown as Lane

function mark(first: string, outcome: string, count = 1): object {
  return { first, last: first, count, outcome, reason: 'on_time', job_id: 1 }
}

describe('a lane', () => {
  it('has its marks in order of time, and then what comes', () => {
    const items = laneItems(LANE, LIST)
    expect(items.map(({ outcome, left }) => [outcome, Math.round(left)])).toEqual([
      ['failed', 0],
      ['ran', 50],
      ['failed', 50],
      ['next', 96],
    ])
    expect(items.every(({ width }) => width > 0)).toBe(true)
    expect(laneCounts(LANE)).toEqual([
      ['failed', 2],
      ['ran', 2],
    ])
  })

  it('joins times to come that would overlap', () => {
    const coming = ['00:00', '00:05', '00:10', '02:00'].map((time) => `2026-11-24T${time}:00Z`)
    const items = laneItems({ ...LANE, marks: [], coming }, LIST)
    expect(items.map(({ first, at, count }) => [first, at, count])).toEqual([
      [coming[0], coming[2], 3],
      [coming[3], coming[3], 1],
    ])
  })

  it('knows the moment under each of its points', () => {
    expect(momentAt(0.5, LIST)).toBe('2026-11-23T13:30:00.000Z')
    expect(momentAt(-1, LIST)).toBe('2026-11-23T00:00:00.000Z')
  })

  it('draws durations if there are two', () => {
    expect(sparkline([1])).toBe('')
    expect(sparkline([1, 2, 4]).split(' ')).toHaveLength(3)
  })
})

describe('the reason for a time', () => {
  const WHY = {
    kind: 'decided',
    moment: '2026-11-23T03:00:00Z',
    decision: 'missed',
    reason: 'catch_up_none',
    count: 1,
    job_id: null,
    paused_by: null,
    paused_on: null,
    no_node_from: '2026-11-23T01:00:00Z',
    no_node_until: '2026-11-23T08:00:00Z',
  } as unknown as Why

  it('says since when no node was up', () => {
    const text = whyText(WHY, en.schedules)
    expect(text).toContain('no node could start it on time')
    expect(text).toContain('No node was up from')
  })

  it('names the state of the job in the language of the page', () => {
    language.value = 'de'
    const text = whyText({ ...WHY, job_id: 7, job_state: 'failed' }, de.schedules)
    language.value = 'en'
    expect(text).toContain('Job #7: Fehlgeschlagen.')
  })

  it('is said for every kind, in both languages', () => {
    const kinds: Why['kind'][] = [
      'to_come',
      'will_be_skipped',
      'run_in_progress',
      'overdue',
      'everything_paused',
      'disabled',
      'not_a_time',
      'no_fixed_times',
      'not_created_yet',
      'other_rules',
      'forgotten',
    ]
    for (const kind of kinds) {
      for (const { schedules } of [en, de]) {
        expect(whyText({ ...WHY, kind, disabled_reason: 'paused' }, schedules)).not.toContain(
          'undefined',
        )
      }
    }
  })
})
