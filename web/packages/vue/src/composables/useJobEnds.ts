import { watchJobEnds, type JobEndCallbacks, type JobTypes, type NameOf } from '@horae/client'
import { onScopeDispose } from 'vue'

import { useHorae } from '../store/plugin'

/**
 * Call the callbacks once for each of the user's jobs of these types that ends, for as long as the scope lives. Use it in
 * the component of the whole application: it also reports jobs of other tabs, and jobs that ended during a reload.
 */
export function useJobEnds(
  types: NameOf<JobTypes> | readonly NameOf<JobTypes>[],
  callbacks: Omit<JobEndCallbacks, 'onJobGone'>,
): void {
  const { client, polling } = useHorae()
  const names = typeof types === 'string' ? [types] : types
  onScopeDispose(watchJobEnds(client, names, callbacks, polling))
}
