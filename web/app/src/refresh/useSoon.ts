import { onScopeDispose } from 'vue'

const SOON = 1000

/** Call once a while after the first of many wishes: events may come by the hundred. */
export function useSoon(call: () => void, after = SOON): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  onScopeDispose(() => clearTimeout(timer))
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined
      call()
    }, after)
  }
}
