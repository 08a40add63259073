import { computed, type ComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

/** By what a table is sorted, and whether from the other end. */
export interface SortOrder<Key extends string> {
  readonly by: Key
  readonly reversed: boolean
}

/** A value by which rows are sorted; rows without one come last. */
export type SortValue = string | number | null

/** Sort rows: texts from A, numbers from the largest. Rows with equal values stay in their order. */
export function sortedBy<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => SortValue,
  reversed = false,
): Row[] {
  const sign = reversed ? -1 : 1
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .sort(({ value: left }, { value: right }) => {
      if (left === null || right === null) return Number(left === null) - Number(right === null)
      return sign * compared(left, right)
    })
    .map(({ row }) => row)
}

function compared(left: string | number, right: string | number): number {
  if (typeof left === 'string' || typeof right === 'string') {
    return String(left).localeCompare(String(right), undefined, { numeric: true })
  }
  // Two that never end are equal; their difference is not a number.
  return left === right ? 0 : right > left ? 1 : -1
}

/** Parse an order from an address, such as `-waiting`, where `-` reverses it. */
export function parseOrder<Key extends string>(
  text: unknown,
  keys: readonly Key[],
  usual: Key,
): SortOrder<Key> {
  const reversed = typeof text === 'string' && text.startsWith('-')
  const by = keys.find((key) => key === (reversed ? text.slice(1) : text))
  return by === undefined ? { by: usual, reversed: false } : { by, reversed }
}

export interface UseSortingReturn<Key extends string> {
  readonly order: ComputedRef<SortOrder<Key>>
  /** Sort by a column; from the other end if the table is already sorted by it. */
  readonly sortBy: (by: Key) => void
}

/** Sort a table as its address says, by default by `usual`. `parameter`: its name in the address. */
export function useSorting<Key extends string>(
  keys: readonly Key[],
  usual: Key,
  parameter = 'sort',
): UseSortingReturn<Key> {
  const route = useRoute()
  const router = useRouter()
  const order = computed(() => parseOrder(route.query[parameter], keys, usual))

  function sortBy(by: Key): void {
    const reversed = by === order.value.by && !order.value.reversed
    const text = reversed ? `-${by}` : by
    const query = { ...route.query, [parameter]: text === usual ? undefined : text }
    void router.replace({ query })
  }

  return { order, sortBy }
}
