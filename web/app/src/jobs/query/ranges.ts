import type { Texts } from '@/texts/texts'
import { termsOf, withTerm } from './terms'

/** A range of the time at which jobs were created, as a term of the query. */
export interface TimePreset {
  readonly name: keyof Texts['jobs']['ranges']
  readonly term: string
}

export const PRESETS: readonly TimePreset[] = [
  { name: 'any', term: '' },
  { name: 'minutes15', term: 'since:15m' },
  { name: 'hour', term: 'since:1h' },
  { name: 'hours24', term: 'since:24h' },
  { name: 'today', term: 'since:today' },
  { name: 'yesterday', term: 'since:yesterday' },
  { name: 'days7', term: 'since:7d' },
]

const FIELDS = ['since', 'until', 'created']

/** Return the part of a query that limits the time at which jobs were created. */
export function rangeOf(text: string): string {
  return termsOf(text)
    .filter((term) => !term.negated && FIELDS.includes(term.field ?? ''))
    .map((term) => text.slice(term.start, term.end))
    .join(' ')
}

/** Return the query with another range. */
export function withRange(text: string, range: string): string {
  return withTerm(text, FIELDS, range)
}

/** Return the terms for a range between two inputs of a local date and time, of which one may be empty. */
export function betweenText(from: string, to: string): string {
  const written = (field: string, value: string): string =>
    value === '' ? '' : `${field}:${value}`
  return [written('since', from), written('until', to)].filter((part) => part !== '').join(' ')
}
