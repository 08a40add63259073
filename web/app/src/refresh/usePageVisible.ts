import { onScopeDispose, readonly, shallowRef, type Ref } from 'vue'

/** Return whether the page is visible. */
export function usePageVisible(page: Document = document): Readonly<Ref<boolean>> {
  const visible = shallowRef(!page.hidden)
  const update = (): void => void (visible.value = !page.hidden)
  page.addEventListener('visibilitychange', update)
  onScopeDispose(() => page.removeEventListener('visibilitychange', update))
  return readonly(visible)
}
