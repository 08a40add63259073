import { shallowRef } from 'vue'

/** Moves the focus to the search field of the page; null on pages without one. */
export const focusSearch = shallowRef<(() => void) | null>(null)

/** The state of an address from which the search field takes the focus. */
export const FOCUSED = { focusSearch: true } as const
