import { JOB_STATES } from '@horae/vue'

import { texts, type Texts } from '@/texts/texts'
import { termsOf, valueText, type QueryTerm } from './terms'

/** What could complete the term at the cursor. */
export interface Suggestion {
  readonly label: string
  readonly hint: string
  /** The text of the field with the suggestion, and the place of the cursor in it. */
  readonly text: string
  readonly cursor: number
}

/** Values that the page knows, by field. */
export type KnownValues = Readonly<Record<string, readonly string[]>>

export interface QueryField {
  readonly field: keyof Texts['jobs']['hints']
  /** The usual operator, such as `>=`. */
  readonly operator: string
  /** Only staff see the jobs of others. */
  readonly staff?: boolean
}

export const FIELDS: readonly QueryField[] = [
  { field: 'state', operator: ':' },
  { field: 'type', operator: ':' },
  { field: 'queue', operator: ':' },
  { field: 'owner', operator: ':', staff: true },
  { field: 'error', operator: ':' },
  { field: 'tag', operator: ':' },
  { field: 'since', operator: ':' },
  { field: 'until', operator: ':' },
  { field: 'finished', operator: ':' },
  { field: 'duration', operator: '>' },
  { field: 'wait', operator: '>' },
  { field: 'attempts', operator: '>=' },
  { field: 'schedule', operator: ':' },
  { field: 'group', operator: ':' },
  { field: 'key', operator: ':' },
  { field: 'id', operator: ':' },
  { field: 'params', operator: '.' },
]

const TIMES = ['today', 'yesterday', '1h', '24h', '7d']
const CONSTANT: KnownValues = {
  state: JOB_STATES,
  since: TIMES,
  until: ['yesterday'],
  finished: ['today', 'yesterday', '<1h', '<24h'],
  created: ['today', 'yesterday'],
}
const MOST = 8

const NOTHING = { negated: false, field: null, operator: '', value: '' }

/** What stands in place of the term at the cursor, with what is shown of it. */
interface Completion {
  readonly written: string
  readonly label: string
  readonly hint: string
}

/** Return what could complete the term that ends at the cursor. */
export function suggestionsFor(
  text: string,
  cursor: number,
  known: KnownValues,
  seesAll: boolean,
): Suggestion[] {
  const term = termsOf(text).find(({ start, end }) => start < cursor && cursor <= end) ?? {
    ...NOTHING,
    start: cursor,
    end: cursor,
  }
  const before = text.slice(0, term.start) + (term.negated ? '-' : '')
  const after = text.slice(term.end).trimStart()
  const completions =
    term.field === null
      ? fieldsFor(term.value.toLowerCase(), seesAll)
      : valuesFor(term.field, term, known)
  return completions.map(({ written, label, hint }) => {
    const completed = before + written
    return { label, hint, text: completed + after, cursor: completed.length }
  })
}

function fieldsFor(typed: string, seesAll: boolean): Completion[] {
  return FIELDS.filter(
    ({ field, operator, staff }) =>
      `${field}${operator}`.startsWith(typed) && (seesAll || staff !== true),
  )
    .map(({ field, operator }) => {
      const start = `${field}${operator}`
      return { written: start, label: start, hint: texts.value.jobs.hints[field] }
    })
    .slice(0, typed === '' ? FIELDS.length : MOST)
}

function valuesFor(
  field: string,
  { operator, value }: QueryTerm,
  known: KnownValues,
): Completion[] {
  // In a list the last of the values is completed.
  const others = value.slice(0, value.lastIndexOf(',') + 1)
  const typed = value.slice(others.length).replace(/^"/, '').toLowerCase()
  const values = CONSTANT[field] ?? known[field] ?? []
  return values
    .filter((each) => each.toLowerCase().includes(typed) && each.toLowerCase() !== typed)
    .slice(0, MOST)
    .map((each) => {
      const written = /^[<>]/.test(each) ? each : valueText(each)
      return { written: `${field}${operator}${others}${written} `, label: each, hint: '' }
    })
}
