import { HoraeError, Unreachable } from '@horae/vue'
import { computed, shallowRef, type ComputedRef, type Ref } from 'vue'

import { refreshNow } from './manualRefresh'
import { refreshSeconds } from './interval'
import { useEvents } from './useEvents'
import { useNow } from './useNow'

/** Seconds that data may be older than the interval at which they are read, before they count as old. */
const TOLERANCE = 5

/** What cannot be reached: the server, or the database behind it. */
export interface Loss {
  readonly what: 'server' | 'database'
  /** When that was noticed first, in milliseconds. */
  readonly since: number
}

/** Data on the page that are read from the server. */
interface Source {
  /** When the data were asked for, in milliseconds: they are at least as new. Null before the first answer, and if they do not become old. */
  readonly asOf: number | null
  readonly loss: Loss | null
  /** The interval at which they are read, in seconds; 0 if only the user refreshes them. */
  readonly seconds: Readonly<Ref<number>>
}

/** All data on the page. */
const sources = shallowRef<readonly Source[]>([])
/** The server has sent the event that it has lost its database. */
const announced = shallowRef<Loss | null>(null)

/** What is reported about the data of a view. */
export interface FreshnessReports {
  readonly answered: (askedAt: number) => void
  readonly failed: (error: unknown, askedAt: number) => void
  /** The data are no longer shown. */
  readonly end: () => void
}

/**
 * Report how old some data on the page are. The age of the page is that of its oldest data.
 *
 * @param ages - whether the data become old, as those do not that can no longer change
 */
export function reportFreshness(
  seconds: Readonly<Ref<number>> = refreshSeconds,
  ages: () => boolean = () => true,
): FreshnessReports {
  let source: Source = { asOf: null, loss: null, seconds }

  function replace(next: Source): void {
    sources.value = [...sources.value.filter((each) => each !== source), next]
    source = next
  }

  function answered(askedAt: number): void {
    replace({ ...source, asOf: ages() ? askedAt : null, loss: null })
    // The server may have answered from what it remembers, so only a later question counts.
    if (announced.value !== null && askedAt > announced.value.since) announced.value = null
  }

  function failed(error: unknown, askedAt: number): void {
    const what = lostBy(error)
    if (what !== null) {
      const since = source.loss?.what === what ? source.loss.since : askedAt
      replace({ ...source, loss: { what, since } })
    } else if (error instanceof HoraeError && error.status < 500) {
      answered(askedAt) // an answer that blames the request shows that the server has its data
    }
  }

  function end(): void {
    sources.value = sources.value.filter((each) => each !== source)
  }

  return { answered, failed, end }
}

/** Return what an error shows to be lost; null if it shows something else. */
export function lostBy(error: unknown): Loss['what'] | null {
  if (error instanceof HoraeError && error.code === 'ERROR_UNAVAILABLE') return 'database'
  const isOfProxy = error instanceof HoraeError && error.code.startsWith('ERROR_HTTP_5')
  return error instanceof Unreachable || isOfProxy ? 'server' : null
}

/**
 * Follow what the events of the server tell about its data, and read all data again when a lost server or database is
 * back: the intervals have become long by then.
 */
export function useEventFreshness(): void {
  const loss = computed(currentLoss)
  useEvents(({ type }) => {
    if (type === 'unavailable') {
      announced.value ??= { what: 'database', since: Date.now() }
    } else if (type === 'hello' || type === 'reset') {
      const wasLost = loss.value !== null
      announced.value = null
      if (wasLost) refreshNow()
    }
  })
}

function currentLoss(): Loss | null {
  const losses = sources.value.flatMap((each) => each.loss ?? [])
  if (announced.value !== null) losses.push(announced.value)
  if (losses.length === 0) return null
  const what = losses.some((each) => each.what === 'server') ? 'server' : 'database'
  return { what, since: Math.min(...losses.map((each) => each.since)) }
}

export interface Freshness {
  /** The server or its database cannot be reached; null if both can. */
  readonly loss: ComputedRef<Loss | null>
  /** When the oldest data on the page were asked for, in milliseconds; null before the first answer. */
  readonly asOf: ComputedRef<number | null>
  /** Some data are older than they should be at their interval. */
  readonly isOld: ComputedRef<boolean>
}

/** Return how old the data on the page are. */
export function useFreshness(): Freshness {
  const now = useNow()
  return {
    loss: computed(currentLoss),
    asOf: computed(() => {
      const known = sources.value.flatMap((each) => each.asOf ?? [])
      return known.length === 0 ? null : Math.min(...known)
    }),
    isOld: computed(() =>
      sources.value.some(
        ({ asOf, seconds }) =>
          asOf !== null && now.value - asOf > (2 * seconds.value + TOLERANCE) * 1000,
      ),
    ),
  }
}
