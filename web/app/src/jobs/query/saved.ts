import { shallowRef, type Ref } from 'vue'

/** A search that the user has given a name. It is stored in the browser. */
export interface SavedSearch {
  readonly name: string
  readonly query: string
}

const KEY = 'horae.searches'
/** The largest number of searches that are kept. */
export const MOST_SAVED = 50
export const LONGEST_NAME = 60

/** Read the searches from a stored text; anything else in it is ignored. */
export function parseSaved(stored: string | null): SavedSearch[] {
  try {
    const parsed: unknown = JSON.parse(stored ?? '[]')
    return Array.isArray(parsed) ? parsed.filter(isSaved).slice(0, MOST_SAVED) : []
  } catch {
    return []
  }
}

function isSaved(value: unknown): value is SavedSearch {
  const { name, query } = (value ?? {}) as Partial<SavedSearch>
  return typeof name === 'string' && name !== '' && typeof query === 'string'
}

/** Return the searches with one more, which replaces one of the same name. */
export function withSaved(saved: readonly SavedSearch[], added: SavedSearch): SavedSearch[] {
  const name = added.name.trim().slice(0, LONGEST_NAME)
  const others = saved.filter((each) => each.name !== name)
  return [...others, { name, query: added.query.trim() }]
    .sort((a, b) => a.name.localeCompare(b.name))
    .slice(0, MOST_SAVED)
}

export interface UseSavedSearchesReturn {
  readonly saved: Ref<readonly SavedSearch[]>
  readonly save: (search: SavedSearch) => void
  readonly remove: (name: string) => void
}

/** The searches that are stored in this browser. */
export function useSavedSearches(): UseSavedSearchesReturn {
  const saved = shallowRef<readonly SavedSearch[]>(parseSaved(localStorage.getItem(KEY)))

  function store(changed: readonly SavedSearch[]): void {
    saved.value = changed
    localStorage.setItem(KEY, JSON.stringify(changed))
  }

  return {
    saved,
    // Another tab may have saved one meanwhile.
    save: (search) => store(withSaved(parseSaved(localStorage.getItem(KEY)), search)),
    remove: (name) =>
      store(parseSaved(localStorage.getItem(KEY)).filter((each) => each.name !== name)),
  }
}
