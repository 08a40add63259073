import { useSyncExternalStore } from 'react'

import { useHorae } from '../store/context'

/**
 * Return what `read` finds in the jobs of the page, and render again when that changes. On a server, and while a page of a
 * server is hydrated, it is `initial`.
 */
export function useTracked<Value>(read: () => Value, initial: Value): Value {
  return useSyncExternalStore(useHorae().subscribe, read, () => initial)
}
