import { termsOf, withTerm } from './terms'

/** A range of the time at which jobs were created, as a term of the query. */
export interface TimePreset {
  readonly title: string
  readonly term: string
}

export const PRESETS: readonly TimePreset[] = [
  { title: 'Any time', term: '' },
  { title: 'Last 15 minutes', term: 'since:15m' },
  { title: 'Last hour', term: 'since:1h' },
  { title: 'Last 24 hours', term: 'since:24h' },
  { title: 'Today', term: 'since:today' },
  { title: 'Since yesterday', term: 'since:yesterday' },
  { title: 'Last 7 days', term: 'since:7d' },
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
