import { shallowRef, watch, type Ref } from 'vue'

import { HoraeError } from '@horae/vue'

import { schedules, type Preview, type ScheduleBody } from '@/api/schedules'
import { lostBy } from '@/refresh/freshness'
import { useManualRefresh } from '@/refresh/manualRefresh'

/** How long to wait for further keys, in milliseconds. */
const DELAY = 250

export interface UsePreviewReturn {
  /** What the trigger means; that of an earlier one while another is read. */
  readonly preview: Ref<Preview | null>
  /** Why the server refuses the trigger; null unless it does. */
  readonly refused: Ref<HoraeError | null>
  /** The server or its database cannot be reached, so the preview may be that of an earlier trigger. */
  readonly stale: Ref<boolean>
  readonly reading: Ref<boolean>
}

/** Ask what a trigger means while it is typed, and again when a lost server is back; undefined asks nothing. */
export function usePreview(trigger: () => ScheduleBody | undefined): UsePreviewReturn {
  const state = previewState()
  const { preview, refused, stale, reading } = state

  function begin(body: ScheduleBody | undefined, onCleanup: (stop: () => void) => void): void {
    reading.value = body !== undefined
    if (body === undefined) {
      preview.value = refused.value = null
      stale.value = false
      return
    }
    const request = new AbortController()
    const timer = setTimeout(() => void read(body, state, request.signal), DELAY)
    onCleanup(() => {
      clearTimeout(timer)
      request.abort()
    })
  }

  const recoveries = shallowRef(0)
  useManualRefresh(() => {
    if (stale.value) recoveries.value += 1
  })
  watch(
    [() => JSON.stringify(trigger() ?? null), recoveries],
    (_now, _before, onCleanup) => begin(trigger(), onCleanup),
    { immediate: true },
  )
  return state
}

function previewState(): UsePreviewReturn {
  return {
    preview: shallowRef(null),
    refused: shallowRef(null),
    stale: shallowRef(false),
    reading: shallowRef(false),
  }
}

async function read(
  body: ScheduleBody,
  { preview, refused, stale, reading }: UsePreviewReturn,
  signal: AbortSignal,
): Promise<void> {
  try {
    const found = await schedules.preview(body, signal)
    if (signal.aborted) return
    preview.value = found
    refused.value = null
    stale.value = false
  } catch (error) {
    if (signal.aborted) return
    stale.value = !(error instanceof HoraeError) || lostBy(error) !== null
    refused.value = error instanceof HoraeError && !stale.value ? error : null
    if (!stale.value) preview.value = null
  } finally {
    if (!signal.aborted) reading.value = false
  }
}
