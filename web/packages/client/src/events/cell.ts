/**
 * Holds a value that changes. A framework makes cells of its own, so that it learns of changes: Vue's `shallowRef` is one, and
 * @horae/react has one that renders components again.
 */
export interface Cell<Value> {
  value: Value
}

export type CreateCell = <Value>(value: Value) => Cell<Value>

export const plainCell: CreateCell = (value) => ({ value })
