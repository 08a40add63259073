import { HoraeError, Loop } from '@horae/vue'
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
import { useAsking } from './asking'
import { refreshSeconds } from './preference'
import { usePageVisible } from './visibility'

const LONGEST_WAIT = 30_000

export interface ResourceOptions {
  /** Begin anew when this changes, */
  readonly subject?: WatchSource
  /** and show what was there until there is something new. */
  readonly keep?: boolean
  /** Seconds between two looks; the user's choice unless given. */
  readonly seconds?: Ref<number>
  /** Whether there is anything left to look for. */
  readonly rest?: () => boolean
}

/** Something the server knows, looked at again and again while somebody sees it. */
export interface Resource<Value> {
  readonly data: Readonly<Ref<Value | null>>
  /** Why the last look failed; what was seen before it stays. */
  readonly error: Readonly<Ref<unknown>>
  /** This server has no such thing. */
  readonly unavailable: ComputedRef<boolean>
  /** Look now. */
  readonly refresh: () => void
  /** Show this until the next look, as after a change. */
  readonly put: (value: Value) => void
}

export function useResource<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  options: ResourceOptions = {},
): Resource<Value> {
  const { data, error, failures, look, reset } = useReading(read)
  const visible = usePageVisible()
  const seconds = options.seconds ?? refreshSeconds
  const loop = new Loop({ work: look, delay })

  function delay(): number | null {
    if (!visible.value || isAnonymous.value || seconds.value === 0) return null
    const gap = seconds.value * 1000
    if (failures.value > 0) return Math.min(gap * 2 ** failures.value, LONGEST_WAIT)
    return options.rest?.() ? null : gap
  }

  function begin(): void {
    loop.stop()
    reset(options.keep ?? false)
    loop.hurry()
  }

  begin()
  if (options.subject) watch(options.subject, begin)
  // Whoever comes back, or logs in, sees what is so now.
  watch([visible, isAnonymous], () => {
    if (visible.value && !isAnonymous.value) loop.hurry()
    else loop.poke()
  })
  watch(seconds, () => loop.poke())
  useAsking(() => loop.hurry())
  onScopeDispose(() => loop.stop())

  return {
    data,
    error,
    unavailable: computed(() => error.value instanceof HoraeError && error.value.status === 404),
    refresh: () => loop.hurry(),
    put: (value) => (data.value = value),
  }
}

interface Reading<Value> {
  readonly data: Ref<Value | null>
  readonly error: Ref<unknown>
  /** How many looks in a row have failed. */
  readonly failures: Ref<number>
  readonly look: (signal: AbortSignal) => Promise<void>
  readonly reset: (keep: boolean) => void
}

function useReading<Value>(read: (signal: AbortSignal) => Promise<Value>): Reading<Value> {
  const data = shallowRef<Value | null>(null)
  const error = shallowRef<unknown>(null)
  const failures = shallowRef(0)

  async function look(signal: AbortSignal): Promise<void> {
    try {
      const value = await read(signal)
      if (signal.aborted) return
      data.value = value
      error.value = null
      failures.value = 0
    } catch (problem) {
      if (signal.aborted) return
      error.value = problem
      failures.value += 1
    }
  }

  function reset(keep: boolean): void {
    if (!keep) data.value = null
    error.value = null
    failures.value = 0
  }

  return { data, error, failures, look, reset }
}
