import { HoraeError } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'

import { schedules, type Preview } from '@/api/schedules'
import { refreshNow } from '@/refresh/manualRefresh'
import { usePreview } from '@/schedules/usePreview'

let scope: EffectScope

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope(true)
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const FOUND = { words: 'At 04:00.' } as Preview

describe('the preview of a trigger', () => {
  it('is read again when the database is back', async () => {
    const ask = vi
      .spyOn(schedules, 'preview')
      .mockRejectedValueOnce(new HoraeError(503, 'ERROR_UNAVAILABLE', ''))
      .mockResolvedValue(FOUND)
    const { preview, refused, stale } = scope.run(() => usePreview(() => ({ cron: '0 4 * * *' })))!
    await vi.advanceTimersByTimeAsync(250)
    expect(stale.value).toBe(true)
    expect(refused.value).toBeNull()
    refreshNow()
    await vi.advanceTimersByTimeAsync(250)
    expect(preview.value).toEqual(FOUND)
    expect(stale.value).toBe(false)
    refreshNow()
    await vi.advanceTimersByTimeAsync(250)
    expect(ask).toHaveBeenCalledTimes(2)
  })
})
