import type { FeedListener } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, shallowRef, type EffectScope } from 'vue'

import { client, isAnonymous } from '@/api/server'
import {
  schedules,
  type LedgerQuery,
  type Schedule,
  type ScheduleDetail,
  type ScheduleQuery,
} from '@/api/schedules'
import { routeQueryOf, matches, newestOf, scheduleQueryOf } from '@/schedules/filters'
import { parseScheduleEvent } from '@/schedules/scheduleEvents'
import { useScheduleList } from '@/schedules/useScheduleList'
import { useScheduleDetail } from '@/schedules/useScheduleDetail'

const ALL: ScheduleQuery = { name: null, enabled: null, cursor: null }
const NO_CHANGES = { schedule: null, gone: null, missed: false }

let scope: EffectScope
let listeners: FeedListener[]

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope(true)
  listeners = []
  isAnonymous.value = false
  vi.spyOn(client.events, 'subscribe').mockImplementation((listener) => {
    listeners.push(listener)
    return () => (listeners = listeners.filter((each) => each !== listener))
  })
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A schedule as in a list, with the fields that these tests need. */
function scheduleOf(id: number, more: Partial<Schedule> = {}): Schedule {
  return { id, name: `s${id}`, version: 1, enabled: true, state: 'idle', ...more } as Schedule
}

function detailOf(id: number): ScheduleDetail {
  return { ...scheduleOf(id), next_runs: ['2030-01-01T00:00:00Z'] } as unknown as ScheduleDetail
}

function sendEvent(type: string, data: unknown): void {
  for (const { onEvent } of listeners) onEvent?.({ type, data: JSON.stringify(data), id: null })
}

const pass = (milliseconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds)

function answersWith(page: readonly Schedule[]) {
  return vi
    .spyOn(schedules, 'list')
    .mockImplementation(() => Promise.resolve({ schedules: [...page], next: null }))
}

describe('an event about schedules', () => {
  it.each([
    ['schedule', '{"id": 3}', { ...NO_CHANGES, schedule: { id: 3 } }],
    ['schedule_gone', '{"id": 3}', { ...NO_CHANGES, gone: 3 }],
    ['reset', '{}', { ...NO_CHANGES, missed: true }],
    ['hello', '{"resumed": false}', { ...NO_CHANGES, missed: true }],
    ['hello', '{"resumed": true}', NO_CHANGES],
    ['job', '{"id": 3}', NO_CHANGES],
    ['schedule', '{', NO_CHANGES],
    ['schedule', 'null', NO_CHANGES],
    ['schedule_gone', '{"id": "3"}', NO_CHANGES],
  ])('%s %s', (type, data, changes) => {
    expect(parseScheduleEvent({ type, data, id: null })).toEqual(changes)
  })
})

describe('the address of a list of schedules', () => {
  it.each([
    [{}, ALL],
    [
      { name: 'purge', enabled: 'false' },
      { ...ALL, name: 'purge', enabled: false },
    ],
    [
      { enabled: 'true', cursor: 'WyJh_-0' },
      { ...ALL, enabled: true, cursor: 'WyJh_-0' },
    ],
  ])('is read and written: %o', (address, query) => {
    expect(scheduleQueryOf(address)).toEqual(query)
    expect(routeQueryOf(query)).toEqual(address)
  })

  it('is ignored if it is invalid', () => {
    expect(scheduleQueryOf({ name: '', enabled: 'perhaps', cursor: '../x' })).toEqual(ALL)
  })

  it('determines which schedules match', () => {
    expect(matches(scheduleOf(1, { name: 'Purge' }), { ...ALL, name: 'PUR' })).toBe(true)
    expect(matches(scheduleOf(1), { ...ALL, name: 'purge' })).toBe(false)
    expect(matches(scheduleOf(1), { ...ALL, enabled: false })).toBe(false)
  })
})

it('an older response does not replace a newer version', () => {
  const known = [scheduleOf(1, { version: 5 }), scheduleOf(2, { version: 5 })]
  expect(newestOf(scheduleOf(1, { version: 4 }), known)).toBe(known[0])
  expect(newestOf(scheduleOf(2, { version: 6 }), known).version).toBe(6)
  expect(newestOf(scheduleOf(3, { version: 1 }), known).id).toBe(3)
})

describe('a list of schedules', () => {
  const query = shallowRef<ScheduleQuery>(ALL)

  beforeEach(() => (query.value = ALL))

  async function shown() {
    const list = scope.run(() => useScheduleList(query))!
    await pass(0)
    return list
  }

  it('shows changed schedules immediately, and removes deleted ones', async () => {
    const read = answersWith([scheduleOf(1), scheduleOf(2)])
    const list = await shown()
    sendEvent('schedule', scheduleOf(2, { version: 2, state: 'executing' }))
    expect(list.data.value?.schedules.map(({ state }) => state)).toEqual(['idle', 'executing'])
    sendEvent('schedule_gone', { id: 1 })
    expect(list.data.value?.schedules.map(({ id }) => id)).toEqual([2])
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('is read once a second at most when schedules are added or events were lost', async () => {
    const read = answersWith([scheduleOf(1)])
    await shown()
    for (let id = 10; id < 30; id += 1) sendEvent('schedule', scheduleOf(id))
    sendEvent('reset', {})
    await pass(1100)
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('is read again if a schedule no longer matches, but not for other schedules', async () => {
    query.value = { ...ALL, enabled: true }
    const read = answersWith([scheduleOf(1)])
    await shown()
    sendEvent('schedule', scheduleOf(9, { enabled: false }))
    await pass(1100)
    expect(read).toHaveBeenCalledTimes(1)
    sendEvent('schedule', scheduleOf(1, { enabled: false, version: 2 }))
    await pass(1100)
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('keeps the state of an event if an older response arrives', async () => {
    answersWith([scheduleOf(1)])
    const list = await shown()
    sendEvent('schedule', scheduleOf(1, { version: 2, state: 'executing' }))
    list.refresh()
    await pass(0)
    expect(list.data.value?.schedules[0]?.state).toBe('executing')
  })

  it('removes its listeners when its scope ends', async () => {
    answersWith([])
    await shown()
    scope.stop()
    expect(listeners).toEqual([])
  })
})

describe('the page of a schedule', () => {
  it('shows an event immediately, then reads the fields that events do not contain', async () => {
    const detail = detailOf(7)
    const get = vi.spyOn(schedules, 'get').mockResolvedValue(detail)
    const ticks = vi.spyOn(schedules, 'ticks').mockResolvedValue({ ticks: [], next: null })
    const { schedule } = scope.run(() =>
      useScheduleDetail(
        () => 7,
        () => ({ before: null, decisions: null }),
      ),
    )!
    await pass(0)
    sendEvent('schedule', scheduleOf(8, { version: 2 }))
    await pass(1100)
    expect(get).toHaveBeenCalledTimes(1)
    sendEvent('schedule', scheduleOf(7, { version: 2, enabled: false }))
    expect(schedule.data.value).toMatchObject({ enabled: false, next_runs: detail.next_runs })
    await pass(1100)
    expect([get.mock.calls.length, ticks.mock.calls.length]).toEqual([2, 2])
    sendEvent('schedule_gone', { id: 7 })
    await pass(1100)
    expect(get).toHaveBeenCalledTimes(3)
  })

  it('reads the part of the ledger that the address names', async () => {
    vi.spyOn(schedules, 'get').mockResolvedValue(detailOf(7))
    const ticks = vi.spyOn(schedules, 'ticks').mockResolvedValue({ ticks: [], next: 'before' })
    const query = shallowRef<LedgerQuery>({ before: null, decisions: 'missed' })
    const { history } = scope.run(() =>
      useScheduleDetail(
        () => 7,
        () => query.value,
      ),
    )!
    await pass(0)
    expect(history.data.value?.next).toBe('before')
    expect(ticks.mock.lastCall?.[2]).toEqual({ before: null, decisions: 'missed' })
    query.value = { before: 'before', decisions: null }
    await pass(0)
    expect(ticks.mock.lastCall?.[2]).toEqual({ before: 'before', decisions: null })
  })
})
