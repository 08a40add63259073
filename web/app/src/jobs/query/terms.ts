import { JOB_STATES, type JobState } from '@horae/vue'

/** A term of a query as it stands in the text, such as `-state:finished` or `invoice`. */
export interface QueryTerm {
  readonly start: number
  readonly end: number
  readonly negated: boolean
  /** The name before the operator; null for a text without one. */
  readonly field: string | null
  readonly operator: string
  /** The value as it is written, with its quotes. */
  readonly value: string
}

const TERM = /(-?)(?:([^\s:"<>]+)(:|>=|<=|>|<))?((?:"(?:[^"\\]|\\.)*"?|[^\s"])*)/y
const PLAIN = /^[A-Za-z0-9_@/][\w@/.+-]*$/
/** Texts that the server would read as a number or as another value. */
const JSON_WORD = /^(true|false|null|-?\d[\d.eE+-]*)$/

/** Split a query into its terms. A text that the server would refuse is split as well as possible. */
export function termsOf(text: string): QueryTerm[] {
  const terms: QueryTerm[] = []
  let place = endOfSpace(text, 0)
  while (place < text.length) {
    const term = termAt(text, place)
    terms.push(term)
    place = endOfSpace(text, term.end)
  }
  return terms
}

function endOfSpace(text: string, place: number): number {
  return text.length - text.slice(place).trimStart().length
}

function termAt(text: string, start: number): QueryTerm {
  TERM.lastIndex = start
  const [whole, minus, field, operator, value] = TERM.exec(text) ?? ['']
  return {
    start,
    end: start + Math.max(whole.length, 1),
    negated: minus === '-',
    field: field ?? null,
    operator: operator ?? '',
    value: value ?? '',
  }
}

/** Write a value so that the server reads it as this text. */
export function valueText(value: string): string {
  if (PLAIN.test(value) && !JSON_WORD.test(value)) return value
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

/** Return the term for a field that is one of some texts. */
export function termText(field: string, values: readonly string[]): string {
  return `${field}:${values.map(valueText).join(',')}`
}

/** Return the query without the terms of some fields; terms that exclude jobs stay. */
export function withoutFields(text: string, fields: readonly string[]): string {
  return textOf(
    text,
    termsOf(text).filter((term) => term.negated || !fields.includes(term.field ?? '')),
  )
}

/** Return the query with a term in place of those of the same fields; an empty term only removes them. */
export function withTerm(text: string, fields: readonly string[], term: string): string {
  return [withoutFields(text, fields), term].filter((part) => part !== '').join(' ')
}

/** Return the states that a query names. */
export function statesOf(text: string): JobState[] {
  const named = termsOf(text)
    .filter((term) => term.field === 'state' && !term.negated)
    .flatMap((term) => term.value.split(','))
  return JOB_STATES.filter((state) => named.includes(state))
}

/** Return the query for jobs in these states; for all states if there are none. */
export function withStates(text: string, states: readonly JobState[]): string {
  return withTerm(text, ['state'], states.length === 0 ? '' : termText('state', states))
}

/** The values of a term without quotes; null if they are beginnings, or several in quotes. */
export function valuesOf(term: QueryTerm): string[] | null {
  if (/^"(?:[^"\\]|\\.)*"$/.test(term.value)) {
    return [term.value.slice(1, -1).replaceAll(/\\(.)/g, '$1')]
  }
  return /["*]/.test(term.value) ? null : term.value.split(',')
}

function textOf(text: string, terms: readonly QueryTerm[]): string {
  return terms.map((term) => text.slice(term.start, term.end)).join(' ')
}
