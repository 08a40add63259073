import { onScopeDispose } from 'vue'

/** Call `work` again and again while the page is visible, until the scope ends. The interval is in milliseconds. */
export function usePolling(work: () => void, interval: number): void {
  const timer = setInterval(() => {
    if (!document.hidden) work()
  }, interval)
  onScopeDispose(() => clearInterval(timer))
}
