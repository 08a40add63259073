import { HoraeError } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'

import { recordAnswer, recordFailure, useFreshness, type Freshness } from '@/refresh/freshness'

const START = Date.parse('2026-11-23T12:00:00Z')
let scope: EffectScope
let freshness: Freshness

beforeEach(() => {
  vi.useFakeTimers({ now: START })
  scope = effectScope(true)
  recordAnswer()
  freshness = scope.run(useFreshness)!
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

describe('the data on a page', () => {
  it('become old when the server sends nothing more', () => {
    vi.advanceTimersByTime(4000)
    expect(freshness.oldSince.value).toBeNull()
    vi.advanceTimersByTime(1000)
    expect(freshness.oldSince.value).toBe(START)
    recordAnswer()
    vi.advanceTimersByTime(1000)
    expect(freshness.oldSince.value).toBeNull()
  })

  it.each([
    ['the network fails', new TypeError('failed to fetch'), true],
    ['the database is unavailable', new HoraeError(503, 'ERROR_UNAVAILABLE', ''), true],
    ['the request is refused', new HoraeError(404, 'ERROR_NOT_FOUND', ''), false],
  ])('are unavailable only until the server answers: %s', (_case, error, expected) => {
    recordFailure(error)
    expect(freshness.unavailable.value).toBe(expected)
    recordAnswer()
    expect(freshness.unavailable.value).toBe(false)
  })
})
