import { durationText } from './duration'

const DATE_AND_TIME: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
}

/** Format a timestamp of the API with date, time and time zone: the user's zone, or the given one. */
export function momentText(moment: string | null | undefined, timeZone?: string): string {
  if (!moment) return '–'
  const zone = timeZone === undefined ? {} : { timeZone }
  return new Intl.DateTimeFormat(undefined, { ...DATE_AND_TIME, ...zone }).format(new Date(moment))
}

/** Format a moment in milliseconds for an input of a local date and time, in whole minutes: `2026-11-22T09:00`. */
export function localInput(moment: number): string {
  const local = new Date(moment - new Date(moment).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

/**
 * Format a timestamp relative to `now` (in milliseconds): `just now`, `3 min ago`, `in 2 h 5 min`. Past times have
 * one unit.
 */
export function agoText(moment: string | null | undefined, now: number): string {
  if (!moment) return '–'
  const seconds = (now - Date.parse(moment)) / 1000
  if (Math.abs(seconds) < 1.5) return 'just now'
  const [count, unit, ...rest] = durationText(Math.round(Math.abs(seconds)))
    .replace('.0', '')
    .split(' ')
  return seconds > 0 ? `${count} ${unit} ago` : `in ${[count, unit, ...rest].join(' ')}`
}

/** Format a timestamp as the time of day, with the date if it is more than a day from `now` (in milliseconds). */
export function soonText(moment: string, now: number): string {
  return Math.abs(Date.parse(moment) - now) < 86_400_000 ? clockText(moment) : momentText(moment)
}

/** Format the time of day of a timestamp with its seconds. */
export function secondsText(moment: string): string {
  return new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' }).format(
    new Date(moment),
  )
}

/** Format the time of day of a timestamp. */
export function clockText(moment: string): string {
  return new Intl.DateTimeFormat(undefined, { timeStyle: 'short', hourCycle: 'h23' }).format(
    new Date(moment),
  )
}
