import { onScopeDispose } from 'vue'

/** The default delay, in milliseconds. */
const DELAY = 1000

/**
 * Return a function that calls `callback` after a delay, at most once for all calls within that delay.
 *
 * Events may arrive by the hundred, and each of them may ask for the same data.
 */
export function useThrottled(callback: () => void, delay = DELAY): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  onScopeDispose(() => clearTimeout(timer))
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined
      callback()
    }, delay)
  }
}
