import { describe, expect, it } from 'vitest'

import type { HistorySeries, Queue, QueueCourse, Totals, TypeCourse } from '@/api/model'
import { chartDataOf, isEmpty } from '@/charts/history'
import { rangeOf } from '@/charts/ranges'
import { sparkPathsOf } from '@/charts/spark'
import { whyOf } from '@/charts/why'
import { drainOf, idle, isShown, rowsOf, sorted } from '@/views/queues/rows'
import { compared, failedShare, sorted as sortedTypes } from '@/views/types/rows'

const HISTORY: HistorySeries = {
  scope: 'queue',
  name: 'export',
  start: '2030-01-01T12:00:00Z',
  until: '2030-01-01T12:03:00Z',
  step_seconds: 60,
  seconds: [60, 0, 30],
  waiting: [3, null, 5],
  lateness_seconds: [1, null, 40],
  finished: [6, null, 6],
  failed: [0, null, 1],
  cancelled: [0, null, 0],
  slots: [4, null, null],
  slots_used: [1, null, 4],
  wait_p50_seconds: [null, null, 1],
  wait_p95_seconds: [null, null, 2],
  run_p50_seconds: [0.1, null, 0.2],
  run_p95_seconds: [0.1, null, 0.4],
}

const TOTALS: Totals = {
  seconds: 300,
  finished: 10,
  failed: 0,
  cancelled: 0,
  per_minute: 2,
  wait_p50_seconds: 0.1,
  wait_p95_seconds: 0.2,
  run_p50_seconds: 1,
  run_p95_seconds: 2,
}

describe('a chart of the history', () => {
  it('shows rates of what was recorded, and a gap where nothing was', () => {
    const { times, series } = chartDataOf(HISTORY, 'throughput')
    expect(times[1]).toBe(Date.parse('2030-01-01T12:01:00Z') / 1000)
    expect(series.map(({ values }) => values)).toEqual([
      [6, null, 12],
      [0, null, 2],
      [0, null, 0],
    ])
    expect(chartDataOf(HISTORY, 'waiting').series[0]?.values).toEqual([3, null, 5])
    expect(chartDataOf(HISTORY, 'slots').series[1]?.values).toEqual([4, null, null])
  })

  it('is empty if nothing was recorded', () => {
    expect(isEmpty(HISTORY)).toBe(false)
    expect(isEmpty({ ...HISTORY, seconds: [0, 0, 0] })).toBe(true)
  })

  it('reaches back as the address says, or as usual', () => {
    expect([rangeOf('7d', '1h'), rangeOf('8d', '1h'), rangeOf(undefined, '6h')]).toEqual([
      '7d',
      '1h',
      '6h',
    ])
  })
})

describe('"Why?"', () => {
  const at = Date.parse('2030-01-01T03:10:00Z') / 1000
  const of = { scope: 'queue', name: 'export' } as const
  const history = { start: '2030-01-01T03:00:00Z', step_seconds: 60, seconds: Array(11).fill(60) }

  it('leads from failures to the jobs that failed then', () => {
    expect(whyOf('throughput', 'Failed', 2, at, history, of)).toEqual({
      name: 'jobs',
      query: {
        q: 'finished:2030-01-01T03:10:00Z..2030-01-01T03:11:00Z',
        states: 'failed',
        queue: 'export',
      },
    })
  })

  it('leads from a past depth to the jobs that there were then', () => {
    const then = 'created:..2030-01-01T03:10:00Z finished:2030-01-01T03:09:00Z..'
    const past = at - 60
    const query = { q: then, queue: 'export' }
    expect(whyOf('waiting', 'Waiting', 5, past, history, of)).toEqual({ name: 'jobs', query })
    expect(whyOf('slots', 'Used', 3, past, history, of)).toEqual({ name: 'jobs', query })
    expect(
      whyOf('lateness', 'Oldest', 3, past, history, { scope: 'everything', name: null }),
    ).toEqual({ name: 'jobs', query: { q: then } })
  })

  it('leads from depth to what waits, and from nothing nowhere', () => {
    expect(whyOf('waiting', 'Waiting', 5, at, history, of)).toEqual({
      name: 'jobs',
      query: { states: 'pending', queue: 'export' },
    })
    expect(
      whyOf('waiting', 'Waiting', 5, at, history, { scope: 'everything', name: null }),
    ).toMatchObject({ name: 'queues' })
    expect(whyOf('slots', 'Used', 3, at, history, of)).toEqual({
      name: 'jobs',
      query: { states: 'started', queue: 'export' },
    })
    expect(whyOf('slots', 'Slots', 10, at, history, of)).toEqual({ name: 'fleet' })
    expect(whyOf('throughput', 'Failed', 0, at, history, of)).toBeNull()
    expect(whyOf('throughput', 'Failed', null, at, history, of)).toBeNull()
  })
})

describe('a small line', () => {
  it('has a part for each time without a gap', () => {
    const { line } = sparkPathsOf([0, 10, null, 5], 30, 20)
    expect(line).toBe('M0 19L10 1M30 10h0.5')
    expect(sparkPathsOf([null], 30, 20)).toEqual({ line: '', area: '' })
  })
})

const course = (name: string, more: Partial<QueueCourse> = {}): QueueCourse => ({
  ...{ name, waiting: [], slots: 4, totals: TOTALS, recent: TOTALS, behind_since: null },
  ...more,
})
const queue = (name: string, more: Partial<Queue> = {}): Queue => ({ ...idle(name), ...more })

describe('the rows of queues', () => {
  const rows = rowsOf(
    [
      queue('mail', { due: 10, oldest_seconds: 60 }),
      queue('export', { due: 2, paused: true, paused_on: '2030-01-01T00:00:00Z' }),
      queue('video', { due: 1 }),
    ],
    [
      course('mail', { behind_since: '2030-01-01T09:41:00Z' }),
      course('export', { behind_since: '2030-01-01T09:41:00Z' }),
      course('old'),
    ],
  )
  const names = (found: typeof rows) => found.map((row) => row.queue.name)

  it('are those with jobs or settings now, and those with jobs lately', () => {
    expect(names(rows).sort()).toEqual(['export', 'mail', 'old', 'video'])
  })

  it('begin with what is behind, then what is paused', () => {
    expect(names(sorted(rows, 'behind', false))).toEqual(['mail', 'export', 'old', 'video'])
    expect(names(sorted(rows, 'name', true))).toEqual(['video', 'old', 'mail', 'export'])
    expect(names(sorted(rows, 'drain', false))).toEqual(['export', 'video', 'mail', 'old'])
  })

  it('are chosen by name and by state', () => {
    const of = (...[shown, text]: [Parameters<typeof isShown>[1], string]) =>
      names(rows.filter((row) => isShown(row, shown, text))).sort()
    expect(of('behind', '')).toEqual(['mail'])
    expect(of('paused', '')).toEqual(['export'])
    expect(of('waiting', 'E')).toEqual(['export', 'video'])
  })

  it('say how long a queue needs to drain, and that one never does', () => {
    expect(drainOf(queue('mail', { due: 10 }), course('mail'))).toBe(300)
    expect(drainOf(queue('mail'), course('mail'))).toBeNull()
    expect(drainOf(queue('mail', { due: 1 }), null)).toBe(Infinity)
    expect(drainOf(queue('mail', { due: 1, paused: true }), course('mail'))).toBe(Infinity)
  })
})

describe('types before and after a deployment', () => {
  const type = (name: string, before: Partial<Totals>, after: Partial<Totals>): TypeCourse => ({
    name,
    ended: [],
    totals: TOTALS,
    before: { ...TOTALS, ...before },
    after: { ...TOTALS, ...after },
  })

  it('are worse or better by a notable share', () => {
    const run = (before: number, after: number) =>
      compared(
        type('a', { run_p95_seconds: before }, { run_p95_seconds: after }),
        (totals) => totals.run_p95_seconds,
      )?.verdict
    expect([run(1, 2), run(1, 1.2), run(3, 1)]).toEqual(['worse', 'same', 'better'])
    expect(run(0.001, 0.003)).toBe('same')
    expect(compared({ ...type('a', {}, {}), after: null }, failedShare)).toBeNull()
  })

  it('are sorted by the failures since', () => {
    const many = type('many', {}, { failed: 9 })
    const few = type('few', { failed: 30 }, { failed: 1 })
    expect(sortedTypes([few, many], 'failed', false).map(({ name }) => name)).toEqual([
      'many',
      'few',
    ])
  })
})
