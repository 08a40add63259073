import { HoraeError } from '@horae/vue'
import { computed, shallowRef, type ComputedRef } from 'vue'

import { useEvents } from './useEvents'
import { useNow } from './useNow'

/** Seconds without data from the server after which the data on the page count as old. */
const OLD_AFTER = 5

const answeredAt = shallowRef<number | null>(null)
const unavailable = shallowRef(false)

/** Record that the server has sent data. */
export function recordAnswer(): void {
  answeredAt.value = Date.now()
  unavailable.value = false
}

/** Record that a request failed. An answer that blames the request shows that the server has its data. */
export function recordFailure(error: unknown): void {
  if (error instanceof HoraeError && error.status < 500) recordAnswer()
  else unavailable.value = true
}

/** Record what the events of the server tell about its data. */
export function useEventFreshness(): void {
  useEvents(({ type }) => {
    if (type === 'unavailable') unavailable.value = true
    else recordAnswer()
  })
}

export interface Freshness {
  /** The last request failed, or the server has lost its database. */
  readonly unavailable: ComputedRef<boolean>
  /** When the data on the page were sent, in milliseconds, if that is some seconds ago; else null. */
  readonly oldSince: ComputedRef<number | null>
}

/** Return how old the data on the page are. */
export function useFreshness(): Freshness {
  const now = useNow()
  return {
    unavailable: computed(() => unavailable.value),
    oldSince: computed(() => {
      const at = answeredAt.value
      return at !== null && now.value - at >= OLD_AFTER * 1000 ? at : null
    }),
  }
}
