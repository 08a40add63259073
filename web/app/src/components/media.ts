import { onScopeDispose, readonly, shallowRef, type Ref } from 'vue'

/** The width from which filters stand beside each other, and tables have columns. */
export const WIDE = '(min-width: 45.01rem)'

/** Return whether the window meets a media query, also after its size has changed. */
export function useMediaQuery(query: string): Readonly<Ref<boolean>> {
  const list = matchMedia(query)
  const matches = shallowRef(list.matches)
  const update = (): void => void (matches.value = list.matches)
  list.addEventListener('change', update)
  onScopeDispose(() => list.removeEventListener('change', update))
  return readonly(matches)
}
