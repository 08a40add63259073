import { shallowRef, watch, type Ref } from 'vue'

/** The columns that can be chosen. Job and state are always shown. */
export const COLUMNS = [
  { name: 'reason' },
  { name: 'queue' },
  { name: 'owner', staff: true },
  { name: 'tags' },
  { name: 'attempt' },
  { name: 'created' },
  { name: 'due' },
  { name: 'ended' },
  { name: 'wait' },
  { name: 'duration' },
] as const satisfies readonly { name: string; staff?: boolean }[]

export type ColumnName = (typeof COLUMNS)[number]['name']

const KEY = 'horae.job-columns'
export const DEFAULT_COLUMNS: readonly ColumnName[] = [
  'reason',
  'queue',
  'owner',
  'created',
  'duration',
]

/** Read the columns from a stored text, in the order of `COLUMNS`. */
export function parseColumns(stored: string | null): readonly ColumnName[] {
  if (stored === null) return DEFAULT_COLUMNS
  const names = stored.split(',')
  return COLUMNS.map(({ name }) => name).filter((name) => names.includes(name))
}

/** The columns that the user has chosen. They are stored in the browser. */
export function useColumns(): Ref<readonly ColumnName[]> {
  const columns = shallowRef(parseColumns(localStorage.getItem(KEY)))
  watch(columns, (chosen) => localStorage.setItem(KEY, chosen.join(',')))
  return columns
}
