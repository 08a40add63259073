import { shallowRef, watch, type Ref } from 'vue'

/** The columns that can be chosen. Job and state are always shown. */
export const COLUMNS = [
  { name: 'reason', title: 'Error or reason' },
  { name: 'queue', title: 'Queue' },
  { name: 'owner', title: 'Owner', staff: true },
  { name: 'tags', title: 'Tags' },
  { name: 'attempt', title: 'Attempt' },
  { name: 'created', title: 'Created' },
  { name: 'due', title: 'Due' },
  { name: 'ended', title: 'Ended' },
  { name: 'wait', title: 'Wait' },
  { name: 'duration', title: 'Duration' },
] as const satisfies readonly { name: string; title: string; staff?: boolean }[]

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
