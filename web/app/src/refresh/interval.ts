import { shallowRef, watch } from 'vue'

/** The selectable intervals in seconds; 0 means that only the user refreshes the page. */
export const REFRESH_CHOICES = [2, 5, 15, 60, 0] as const
export type RefreshChoice = (typeof REFRESH_CHOICES)[number]

const KEY = 'horae.refresh'
const DEFAULT: RefreshChoice = 5

export function parseRefreshChoice(text: string | null): RefreshChoice {
  return REFRESH_CHOICES.find((choice) => String(choice) === text) ?? DEFAULT
}

/** The refresh interval of all views, in seconds. It is stored for the next visit. */
export const refreshSeconds = shallowRef<RefreshChoice>(
  parseRefreshChoice(localStorage.getItem(KEY)),
)

watch(refreshSeconds, (seconds) => localStorage.setItem(KEY, String(seconds)))
