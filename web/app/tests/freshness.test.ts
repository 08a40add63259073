import { HoraeError, Unreachable } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, shallowRef, type EffectScope } from 'vue'

import {
  reportFreshness,
  useFreshness,
  type Freshness,
  type FreshnessReports,
} from '@/refresh/freshness'

const START = Date.parse('2026-11-23T12:00:00Z')
const LOST_DATABASE = new HoraeError(503, 'ERROR_UNAVAILABLE', 'the database does not answer')
let scope: EffectScope
let freshness: Freshness
let reports: FreshnessReports

beforeEach(() => {
  vi.useFakeTimers({ now: START })
  scope = effectScope(true)
  freshness = scope.run(useFreshness)!
  reports = reportFreshness(shallowRef(5))
})

afterEach(() => {
  reports.end()
  scope.stop()
  vi.useRealTimers()
})

describe('the age of a page', () => {
  it('is unknown before the first answer', () => {
    expect([freshness.asOf.value, freshness.isOld.value]).toEqual([null, false])
  })

  it('counts from the question, so that a late answer cannot look new', () => {
    vi.advanceTimersByTime(20_000)
    reports.answered(START)
    expect([freshness.asOf.value, freshness.isOld.value]).toEqual([START, true])
  })

  it('is old after two intervals without an answer, and no longer with one', () => {
    reports.answered(START)
    vi.advanceTimersByTime(15_000)
    expect(freshness.isOld.value).toBe(false)
    vi.advanceTimersByTime(1000)
    expect(freshness.isOld.value).toBe(true)
    reports.answered(Date.now())
    expect(freshness.isOld.value).toBe(false)
  })

  it('is that of the oldest data, whatever else is new', () => {
    const other = reportFreshness(shallowRef(5))
    reports.answered(START)
    vi.advanceTimersByTime(30_000)
    other.answered(Date.now())
    reports.failed(new HoraeError(500, 'ERROR_INTERNAL', ''), Date.now())
    expect([freshness.asOf.value, freshness.isOld.value]).toEqual([START, true])
    reports.end()
    expect([freshness.asOf.value, freshness.isOld.value]).toEqual([Date.now(), false])
    other.end()
  })
})

describe('a loss', () => {
  it.each([
    ['the network', new Unreachable('failed to fetch'), 'server'],
    ['a proxy', new HoraeError(502, 'ERROR_HTTP_502', ''), 'server'],
    ['the database', LOST_DATABASE, 'database'],
  ])('of %s lasts until the server answers', (_case, error, what) => {
    reports.failed(error, START)
    expect(freshness.loss.value).toEqual({ what, since: START })
    reports.answered(START + 1)
    expect(freshness.loss.value).toBeNull()
  })

  it('keeps its beginning while it lasts', () => {
    reports.failed(LOST_DATABASE, START)
    reports.failed(LOST_DATABASE, START + 60_000)
    expect(freshness.loss.value?.since).toBe(START)
  })

  it('is none if the server refuses the request', () => {
    reports.failed(new HoraeError(404, 'ERROR_NOT_FOUND', 'no'), START)
    expect([freshness.loss.value, freshness.asOf.value]).toEqual([null, START])
  })
})
