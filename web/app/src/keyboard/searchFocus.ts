/** Milliseconds for which keys wait for the search field, which is fetched with its view. */
const PATIENCE = 5000

/** Moves the focus to the search field of the page, and types a text into it; null on pages without one. */
type Search = (text: string) => void

let search: Search | null = null
/** What was typed for a search field that is not there yet; null if none is waited for. */
let typed: string | null = null

/** Move the focus to the search field, as soon as there is one. Returns whether it is there. */
export function focusSearch(): boolean {
  if (search !== null) {
    search('')
    return true
  }
  typed = ''
  setTimeout(() => (typed = null), PATIENCE)
  return false
}

/** Keep a key for the search field that is waited for. Returns whether one is. */
export function keepForSearch(key: string): boolean {
  if (typed === null || key.length !== 1) return false
  typed += key
  return true
}

/** Announce the search field of the page, which takes the focus and what was typed if it is waited for. */
export function offerSearch(offered: Search): void {
  search = offered
  if (typed !== null) offered(typed)
  typed = null
}

/** Tell that the page has no search field any more. */
export function withdrawSearch(): void {
  search = null
}
