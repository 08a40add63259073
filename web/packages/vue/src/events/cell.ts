/** Holds a value that changes. Vue's `shallowRef` makes cells that templates and watchers follow. */
export interface Cell<Value> {
  value: Value
}

export type CreateCell = <Value>(value: Value) => Cell<Value>

export const plainCell: CreateCell = (value) => ({ value })
