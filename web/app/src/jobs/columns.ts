/** The columns that can be chosen, in the order of the table. Job and state are always shown. */
export const COLUMNS = [
  'reason',
  'queue',
  'owner',
  'tags',
  'attempt',
  'created',
  'due',
  'ended',
  'wait',
  'duration',
] as const
export type ColumnName = (typeof COLUMNS)[number]

export const DEFAULT_COLUMNS: readonly ColumnName[] = [
  'reason',
  'queue',
  'owner',
  'created',
  'duration',
]
