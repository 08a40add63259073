import { onScopeDispose } from 'vue'

import type { JobTypes, NameOf } from '../api/jobTypes'
import { HAS_PAGE } from '../page/visibility'
import { useHorae } from '../store/plugin'
import { JobEnds } from '../tracking/jobEnds'
import { DEFAULT_POLLING } from '../tracking/polling'
import { idsInSessionStorage } from '../tracking/rememberedIds'
import { reportEnd, type JobEndCallbacks } from './useJobEnd'

/**
 * Call the callbacks once for each of the user's jobs of these types that ends, for as long as the scope lives. Use it in
 * the component of the whole application: it also reports jobs of other tabs, and jobs that ended during a reload.
 */
export function useJobEnds(
  types: NameOf<JobTypes> | readonly NameOf<JobTypes>[],
  callbacks: Omit<JobEndCallbacks, 'onJobGone'>,
): void {
  const { client, polling } = useHorae()
  if (!HAS_PAGE) return
  const names = new Set<string>(typeof types === 'string' ? [types] : types)
  const ends = new JobEnds({
    client,
    remembered: idsInSessionStorage(`horae-unfinished ${[...names].sort().join(' ')}`),
    matches: ({ type }) => names.has(type),
    onEnd: (job) => reportEnd(job, callbacks),
    interval: polling.reconcile ?? DEFAULT_POLLING.reconcile,
  })
  ends.start()
  onScopeDispose(() => ends.stop())
}
