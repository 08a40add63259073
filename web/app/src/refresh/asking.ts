import { onScopeDispose } from 'vue'

const looks = new Set<() => void>()

/** Look when the user asks for it, while the scope lives. */
export function useAsking(look: () => void): void {
  looks.add(look)
  onScopeDispose(() => looks.delete(look))
}

/** Let everything that is shown look now. */
export function lookNow(): void {
  for (const look of looks) look()
}
