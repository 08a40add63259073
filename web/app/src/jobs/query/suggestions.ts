import { JOB_STATES } from '@horae/vue'

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
  /** The field with its usual operator, such as `attempts>=`. */
  readonly start: string
  readonly hint: string
  /** Only staff see the jobs of others. */
  readonly staff?: boolean
}

export const FIELDS: readonly QueryField[] = [
  { start: 'state:', hint: 'pending, started, finished, failed or cancelled' },
  { start: 'type:', hint: 'job type; import* for a beginning' },
  { start: 'queue:', hint: 'queue' },
  { start: 'owner:', hint: 'owner', staff: true },
  { start: 'error:', hint: 'text of the error' },
  { start: 'tag:', hint: 'tag' },
  { start: 'since:', hint: 'created from then on: yesterday, 2h, 2026-11-01' },
  { start: 'until:', hint: 'created until then' },
  { start: 'finished:', hint: 'ended in this time: today, <2h' },
  { start: 'duration>', hint: 'ran longer than 30s' },
  { start: 'wait>', hint: 'waited longer than 1m' },
  { start: 'attempts>=', hint: 'number of attempts' },
  { start: 'schedule:', hint: 'runs of a schedule' },
  { start: 'group:', hint: 'members of a group' },
  { start: 'key:', hint: 'unique key' },
  { start: 'id:', hint: 'number of the job' },
  { start: 'params.', hint: 'a parameter, such as params.customer:4711' },
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
  return FIELDS.filter(({ start, staff }) => start.startsWith(typed) && (seesAll || staff !== true))
    .map(({ start, hint }) => ({ written: start, label: start, hint }))
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
