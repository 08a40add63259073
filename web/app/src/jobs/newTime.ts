import { momentOfInput } from '@/format/moment'

/** When a pending job may start: after a delay or at a moment. */
export type NewTime = { readonly delay: string } | { readonly run_at: string }

/**
 * Parse the input of a delay (`90s`, `10 min`; empty: at once) or of a date and time in the zone of the page
 * (`2026-11-22T09:00`). Returns undefined for an invalid input.
 */
export function newTimeOf(kind: 'delay' | 'moment', input: string): NewTime | undefined {
  const text = input.trim()
  if (kind === 'delay' && text === '') return { delay: '0s' }
  if (kind === 'delay') return /^\d/.test(text) ? { delay: text } : undefined
  const moment = momentOfInput(text)
  return Number.isNaN(moment.getTime()) ? undefined : { run_at: moment.toISOString() }
}
