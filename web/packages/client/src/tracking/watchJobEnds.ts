import type { HoraeClient } from '../client/client'
import { reportEnded, type JobEndCallbacks } from '../job/ends'
import { HAS_PAGE } from '../page/visibility'
import { JobEnds } from './jobEnds'
import { DEFAULT_POLLING, type PollingOptions } from './polling'
import { idsInSessionStorage } from './rememberedIds'

/**
 * Call the callbacks once for each of the user's jobs of these types that ends, until the returned function is called: also
 * for jobs of other tabs, and for jobs that ended during a reload. On a server, without a page, it does nothing.
 */
export function watchJobEnds(
  client: HoraeClient,
  types: readonly string[],
  callbacks: Omit<JobEndCallbacks, 'onJobGone'>,
  polling: Partial<PollingOptions> = {},
): () => void {
  if (!HAS_PAGE) return () => undefined
  const names = new Set(types)
  const ends = new JobEnds({
    client,
    remembered: idsInSessionStorage(`horae-unfinished ${[...names].sort().join(' ')}`),
    matches: ({ type }) => names.has(type),
    onEnd: (job) => reportEnded(job, callbacks),
    interval: polling.reconcile ?? DEFAULT_POLLING.reconcile,
  })
  ends.start()
  return () => ends.stop()
}
