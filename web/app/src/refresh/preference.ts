import { shallowRef, watch } from 'vue'

/** Seconds between two looks; 0 is only when asked. */
export const REFRESH_CHOICES = [2, 5, 15, 60, 0] as const
export type RefreshChoice = (typeof REFRESH_CHOICES)[number]

const KEY = 'horae.refresh'
const DEFAULT: RefreshChoice = 5

export function readChoice(text: string | null): RefreshChoice {
  return REFRESH_CHOICES.find((choice) => String(choice) === text) ?? DEFAULT
}

/** How often views look again, for all views and for the next visit. */
export const refreshSeconds = shallowRef<RefreshChoice>(readChoice(localStorage.getItem(KEY)))

watch(refreshSeconds, (seconds) => localStorage.setItem(KEY, String(seconds)))
