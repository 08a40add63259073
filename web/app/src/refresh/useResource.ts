import { HoraeError, PollLoop } from '@horae/vue'
import {
  computed,
  onScopeDispose,
  shallowRef,
  watch,
  type ComputedRef,
  type Ref,
  type WatchSource,
} from 'vue'

import { isAnonymous } from '@/api/server'
import { reportFreshness, type FreshnessReports } from './freshness'
import { refreshSeconds } from './interval'
import { useManualRefresh } from './manualRefresh'
import { usePageVisible } from './usePageVisible'

/** The longest interval after errors, in milliseconds. */
const MAX_INTERVAL = 30_000

export interface ResourceOptions {
  /** What the data depends on, such as an id: it is read again when this changes. */
  readonly key?: WatchSource
  /** Whether to show the previous data until there are data for a new key, or an error. */
  readonly keepData?: boolean
  /** Seconds between two requests; the user's choice by default. */
  readonly seconds?: Readonly<Ref<number>>
  /** Whether the data can no longer change, so that polling stops. */
  readonly isFinal?: () => boolean
  /** Whether the figures are so coarse that the age of the page does not depend on them. */
  readonly isCoarse?: boolean
}

/** Data of the server that is read repeatedly while the page is visible. */
export interface Resource<Value> {
  readonly data: Readonly<Ref<Value | null>>
  /** The error of the last request. Data from earlier requests for the same key are kept. */
  readonly error: Readonly<Ref<unknown>>
  /** The server does not have the data. */
  readonly unavailable: ComputedRef<boolean>
  /** Read the data now. */
  readonly refresh: () => void
  /** Replace the data until the next request, for example after a change. */
  readonly set: (value: Value) => void
}

export function useResource<Value>(
  request: (signal: AbortSignal) => Promise<Value>,
  options: ResourceOptions = {},
): Resource<Value> {
  const visible = usePageVisible()
  const seconds = options.seconds ?? refreshSeconds
  // Data that can no longer change do not become old.
  const freshness = reportFreshness(seconds, () => !options.isCoarse && !options.isFinal?.())
  const { data, error, failures, read, reset } = useRequest(request, freshness)
  const loop = new PollLoop({ work: read, delay })

  function delay(): number | null {
    if (!visible.value || isAnonymous.value || seconds.value === 0) return null
    const interval = seconds.value * 1000
    if (failures.value > 0) return Math.min(interval * 2 ** failures.value, MAX_INTERVAL)
    return options.isFinal?.() ? null : interval
  }

  function start(): void {
    loop.stop()
    reset(options.keepData ?? false)
    loop.runNow()
  }

  start()
  if (options.key) watch(options.key, start)
  // A user who returns to the page or logs in must not see old data.
  watch([visible, isAnonymous], () => {
    if (visible.value && !isAnonymous.value) loop.runNow()
    else loop.reschedule()
  })
  watch(seconds, () => loop.reschedule())
  useManualRefresh(() => loop.runNow())
  onScopeDispose(() => loop.stop())
  onScopeDispose(freshness.end)

  return {
    data,
    error,
    unavailable: computed(() => error.value instanceof HoraeError && error.value.status === 404),
    refresh: () => loop.runNow(),
    set: (value) => (data.value = value),
  }
}

interface UseRequestReturn<Value> {
  readonly data: Ref<Value | null>
  readonly error: Ref<unknown>
  /** The number of consecutive errors. */
  readonly failures: Ref<number>
  readonly read: (signal: AbortSignal) => Promise<void>
  readonly reset: (keepData: boolean) => void
}

function useRequest<Value>(
  request: (signal: AbortSignal) => Promise<Value>,
  freshness: FreshnessReports,
): UseRequestReturn<Value> {
  const data = shallowRef<Value | null>(null)
  const error = shallowRef<unknown>(null)
  const failures = shallowRef(0)
  let isOfOtherKey = false

  async function read(signal: AbortSignal): Promise<void> {
    const askedAt = Date.now()
    try {
      const value = await request(signal)
      if (signal.aborted) return
      data.value = value
      isOfOtherKey = false
      error.value = null
      failures.value = 0
      freshness.answered(askedAt)
    } catch (caught) {
      if (signal.aborted) return
      if (isOfOtherKey) data.value = null
      error.value = caught
      failures.value += 1
      freshness.failed(caught, askedAt)
    }
  }

  function reset(keepData: boolean): void {
    if (!keepData) data.value = null
    isOfOtherKey = data.value !== null
    error.value = null
    failures.value = 0
  }

  return { data, error, failures, read, reset }
}
