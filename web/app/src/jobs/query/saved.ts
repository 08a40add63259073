import { shallowRef, type Ref } from 'vue'

import { sortedBy } from '@/components/sorting'

/** A search that the user has given a name. It is stored in the browser. */
export interface SavedSearch {
  readonly name: string
  readonly query: string
}

const KEY = 'horae.searches'
export const LONGEST_NAME = 60

/** Read the searches from a stored text; anything else in it is ignored. */
export function parseSaved(stored: string | null): SavedSearch[] {
  try {
    const parsed: unknown = JSON.parse(stored ?? '[]')
    return Array.isArray(parsed) ? parsed.filter(isSaved) : []
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
  return sortedBy([...others, { name, query: added.query.trim() }], (each) => each.name)
}

export interface UseSavedSearchesReturn {
  readonly saved: Ref<readonly SavedSearch[]>
  /** Read them again: another tab may have saved one meanwhile. */
  readonly read: () => void
  readonly save: (search: SavedSearch) => void
  readonly remove: (name: string) => void
}

/** The searches that are stored in this browser. */
export function useSavedSearches(): UseSavedSearchesReturn {
  const saved = shallowRef<readonly SavedSearch[]>([])

  function read(): void {
    saved.value = parseSaved(localStorage.getItem(KEY))
  }

  function store(changed: readonly SavedSearch[]): void {
    saved.value = changed
    localStorage.setItem(KEY, JSON.stringify(changed))
  }

  return {
    saved,
    read,
    save: (search) => store(withSaved(parseSaved(localStorage.getItem(KEY)), search)),
    remove: (name) =>
      store(parseSaved(localStorage.getItem(KEY)).filter((each) => each.name !== name)),
  }
}
