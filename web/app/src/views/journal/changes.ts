import { momentText } from '@/format/moment'
import { texts, wordFor } from '@/texts/texts'

/** One changed value. `before` or `after` is undefined if the value was added or removed. */
export interface ChangedValue {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

/** The maximum number of characters of a value in the list. */
const MAX_SHORT = 40

/** Describe the interface through which a change was made. */
export function channelText(channel: string): string {
  return wordFor(texts.value.journal.channels, channel)
}

/** Return the values that differ, by name. */
export function changedValues(before: unknown, after: unknown): ChangedValue[] {
  const [oldFields, newFields] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])]
    .filter((name) => JSON.stringify(oldFields[name]) !== JSON.stringify(newFields[name]))
    .map((name) => ({ name, before: oldFields[name], after: newFields[name] }))
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Format a value on one line, a moment in the zone of the page. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return texts.value.journal.nothing
  if (typeof value !== 'string') return JSON.stringify(value)
  return MOMENT.test(value) ? momentText(value) : value
}

/** Format a value on one short line. */
export function shortText(value: unknown): string {
  const text = valueText(value)
  return text.length > MAX_SHORT ? `${text.slice(0, MAX_SHORT - 1)}…` : text
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {}
  const isRecord = typeof value === 'object' && !Array.isArray(value)
  return isRecord ? (value as Record<string, unknown>) : { value }
}
