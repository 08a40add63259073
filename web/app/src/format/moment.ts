import { computed, type ComputedRef } from 'vue'

import { locale } from '@/texts/locale'
import { texts } from '@/texts/texts'
import { wholeUnits } from './duration'
import { timeZone, zone } from './zone'

const FULL: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
}

/** A formatter costs more than hundreds of uses of it, so each is made once for a language and a zone. */
function formatter(options: Intl.DateTimeFormatOptions): ComputedRef<Intl.DateTimeFormat> {
  return computed(
    () => new Intl.DateTimeFormat(locale.value, { ...options, timeZone: timeZone.value }),
  )
}

const full = formatter(FULL)
const minutes = formatter({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const clock = formatter({ timeStyle: 'short', hourCycle: 'h23' })
const seconds = formatter({ timeStyle: 'medium', hourCycle: 'h23' })

/**
 * Format a timestamp of the API with date, time and time zone: the zone of the page, or the given one. In a component,
 * use `TimeText`.
 */
export function momentText(moment: string | null | undefined, inZone?: string): string {
  if (!moment) return '–'
  const format =
    inZone === undefined
      ? full.value
      : new Intl.DateTimeFormat(locale.value, { ...FULL, timeZone: inZone })
  return format.format(new Date(moment))
}

/**
 * Format a timestamp in the zone of what it belongs to. Empty if that adds nothing: the page shows the same, or the zone
 * is UTC, which tooltips show.
 */
export function otherZoneText(moment: string, inZone: string): string {
  const text = momentText(moment, inZone)
  return inZone === 'UTC' || text === momentText(moment) ? '' : text
}

/** Format a timestamp for a tooltip: with its date in the zone of the page, and in UTC. */
export function tooltipText(moment: string): string {
  const utc = `${new Date(moment).toISOString().slice(0, 19).replace('T', ' ')} UTC`
  return zone.value === 'utc' ? utc : `${momentText(moment)}\n${utc}`
}

/** Format a moment in milliseconds for an input of a date and time, in whole minutes: `2026-11-22T09:00`. */
export function localInput(moment: number): string {
  const offset = zone.value === 'utc' ? 0 : new Date(moment).getTimezoneOffset()
  return new Date(moment - offset * 60_000).toISOString().slice(0, 16)
}

/** Return the moment that the input of a date and time means in the zone of the page. It may be an invalid date. */
export function momentOfInput(text: string): Date {
  return new Date(zone.value === 'utc' && text !== '' ? `${text}Z` : text)
}

/**
 * Format a timestamp relative to `now` (in milliseconds): `just now`, `3 min ago`, `in 2 h 5 min`. Past times have
 * one unit.
 */
export function agoText(moment: string | null | undefined, now: number): string {
  if (!moment) return '–'
  const passed = (now - Date.parse(moment)) / 1000
  const words = texts.value.time
  if (Math.abs(passed) < 1.5) return words.justNow
  const units = wholeUnits(Math.round(Math.abs(passed)))
  return passed > 0 ? words.ago(units[0] ?? '') : words.in(units.join(' '))
}

/** Format a timestamp as the time of day, with the date if it is more than a day from `now` (in milliseconds). */
export function soonText(moment: string, now: number): string {
  const isNear = Math.abs(Date.parse(moment) - now) < 86_400_000
  return isNear ? clockText(moment) : minutes.value.format(new Date(moment))
}

/** Format the time of day of a timestamp with its seconds. */
export function secondsText(moment: string): string {
  return seconds.value.format(new Date(moment))
}

/** Format the time of day of a timestamp. */
export function clockText(moment: string): string {
  return clock.value.format(new Date(moment))
}

const day = formatter({ month: 'short', day: 'numeric' })

/** Format a Unix timestamp as a day: `24 Nov`. */
export function dayText(at: number): string {
  return day.value.format(new Date(at * 1000))
}

/** Format a past timestamp where there is little room: as the time of day, or as the day if it is a day ago. */
export function sinceText(moment: string, now: number): string {
  const at = Date.parse(moment)
  return now - at < 86_400_000 ? clockText(moment) : dayText(at / 1000)
}

/** Format a Unix timestamp for an axis: the time of day, or the day at midnight. */
export function tickText(at: number): string {
  const moment = new Date(at * 1000).toISOString()
  return localInput(at * 1000).endsWith('T00:00') ? dayText(at) : clockText(moment)
}

/** Format a Unix timestamp with its day unless that is today: `14:20`, `23 Nov, 14:20`. */
export function pointText(at: number, now: number): string {
  const text = clockText(new Date(at * 1000).toISOString())
  return dayText(at) === dayText(now / 1000) ? text : `${dayText(at)}, ${text}`
}
