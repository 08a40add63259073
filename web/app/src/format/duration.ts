import { computed } from 'vue'

import { locale } from '@/texts/locale'
import { texts } from '@/texts/texts'

const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
  ['seconds', 1],
] as const

const tenths = computed(
  () => new Intl.NumberFormat(locale.value, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
)

/** Format a duration in at most two units: `3 d 4 h`, `2 min 5 s`, `1.4 s`, `350 ms`. */
export function durationText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–'
  if (seconds < 0) return `−${durationText(-seconds)}`
  const units = texts.value.time
  if (seconds < 0.0005) return `0 ${units.milliseconds}`
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ${units.milliseconds}`
  if (seconds < 9.95) return `${tenths.value.format(seconds)} ${units.seconds}`
  return wholeUnits(Math.round(seconds)).join(' ')
}

/** Return a duration of whole seconds in at most two units, the larger first: `['3 d', '4 h']`. */
export function wholeUnits(seconds: number): string[] {
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  let rest = seconds
  const parts = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count > 0 ? `${count} ${texts.value.time[unit]}` : ''
  })
  return parts.filter(Boolean)
}

/** Return the seconds between two timestamps of the API; null unless both are known. */
export function secondsBetween(
  from: string | null | undefined,
  to: string | number | null | undefined,
): number | null {
  if (!from || to === null || to === undefined) return null
  return (new Date(to).getTime() - Date.parse(from)) / 1000
}
