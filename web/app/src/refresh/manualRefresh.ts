import { onScopeDispose } from 'vue'

const callbacks = new Set<() => void>()

/** Call `refresh` when the user asks for it, until the scope ends. */
export function useManualRefresh(refresh: () => void): void {
  callbacks.add(refresh)
  onScopeDispose(() => callbacks.delete(refresh))
}

/** Refresh everything that is shown. */
export function refreshNow(): void {
  for (const refresh of callbacks) refresh()
}
