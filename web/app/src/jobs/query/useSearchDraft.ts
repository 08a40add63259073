import { shallowRef, watch, type Ref } from 'vue'

const KEY = 'horae.search-draft'

/** What was typed, and the query that was applied when it was typed. */
interface Draft {
  readonly applied: string
  readonly typed: string
}

function keptDraft(): Draft | null {
  try {
    const parsed = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Partial<Draft> | null
    return typeof parsed?.applied === 'string' && typeof parsed.typed === 'string'
      ? { applied: parsed.applied, typed: parsed.typed }
      : null
  } catch {
    return null
  }
}

/**
 * The text of the search field, which takes effect only when it is applied. It follows the applied query when that
 * changes. Otherwise what is typed stays: while the list is refreshed, and after a visit to another page.
 */
export function useSearchDraft(applied: () => string): Ref<string> {
  const kept = keptDraft()
  const draft = shallowRef(kept?.applied === applied() ? kept.typed : applied())
  watch(applied, (query) => (draft.value = query))
  watch([draft, applied], () => {
    const typed: Draft = { applied: applied(), typed: draft.value }
    if (typed.typed === typed.applied) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, JSON.stringify(typed))
  })
  return draft
}
