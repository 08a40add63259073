import { shallowRef, watch, type Ref } from 'vue'

/**
 * Return the text of a field whose value takes effect only later. It follows `source` when that changes, and keeps what
 * the user is typing while the page around it is rendered again.
 */
export function useDraft(source: () => string): Ref<string> {
  const draft = shallowRef(source())
  watch(source, (value) => (draft.value = value))
  return draft
}
