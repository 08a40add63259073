import type { RouteLocationRaw } from 'vue-router'

import type { IconName } from '@/components/icons'

/** What an entry of the palette leads to; the palette shows one group for each, in this order. */
export const KINDS = ['page', 'job', 'schedule', 'queue', 'type', 'deed'] as const
export type Kind = (typeof KINDS)[number]

export interface Entry {
  /** Unique within its kind. */
  readonly id: string
  readonly kind: Kind
  readonly icon: IconName
  readonly title: string
  /** More words beside the title. They are not searched. */
  readonly details?: string
  /** Where it leads; or what it does. */
  readonly target: RouteLocationRaw | (() => void)
}

/** The number of entries that are shown of each kind. */
export const SHOWN_OF_KIND = 6

/** Return the id in an input such as `4711` or `#4711`; null if it is none that the database can hold. */
export function jobIdOf(query: string): number | null {
  const digits = /^#?(\d{1,15})$/.exec(query.trim())?.[1]
  return digits === undefined ? null : Number(digits)
}

/**
 * Return the entries that contain every word of the query, the best of each kind first: those that start with it, then
 * those in which a word starts with it. Entries that the server found for this query (`found`) are kept as they are.
 */
export function matching(
  entries: readonly Entry[],
  query: string,
  found: readonly Entry[],
): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const own = entries
    .map((entry) => ({ entry, rank: rankOf(entry.title.toLowerCase(), words) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .sort((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry)
  const all = [...found, ...own]
  return KINDS.flatMap((kind) => all.filter((entry) => entry.kind === kind).slice(0, SHOWN_OF_KIND))
}

const NO_MATCH = 3

function rankOf(title: string, words: readonly string[]): number {
  const [first] = words
  if (first === undefined) return 0
  if (!words.every((word) => title.includes(word))) return NO_MATCH
  if (title.startsWith(first)) return 0
  return title.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(first)) ? 1 : 2
}

/** Return the index of the next or previous entry, from the last to the first and back. */
export function moved(index: number, step: 1 | -1, count: number): number {
  return count === 0 ? -1 : (index + step + count) % count
}
