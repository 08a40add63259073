import { onScopeDispose, readonly, shallowRef, type Ref } from 'vue'

/** Whether somebody can see the page. */
export function usePageVisible(page: Document = document): Readonly<Ref<boolean>> {
  const visible = shallowRef(!page.hidden)
  const look = (): void => void (visible.value = !page.hidden)
  page.addEventListener('visibilitychange', look)
  onScopeDispose(() => page.removeEventListener('visibilitychange', look))
  return readonly(visible)
}
