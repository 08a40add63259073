import { watchJobEnds, type JobEndCallbacks, type JobTypes, type NameOf } from '@horae/client'
import { useEffect } from 'react'

import { useHorae } from '../store/context'
import { useLatest } from './useLatest'

/**
 * Call the callbacks once for each of the user's jobs of these types that ends, for as long as the component is mounted. Use
 * it in the component of the whole application: it also reports jobs of other tabs, and jobs that ended during a reload.
 */
export function useJobEnds(
  types: NameOf<JobTypes> | readonly NameOf<JobTypes>[],
  callbacks: Omit<JobEndCallbacks, 'onJobGone'>,
): void {
  const { client, polling } = useHorae()
  const latest = useLatest(callbacks)
  // As a text, because a list that is written in a component is another one at each rendering.
  const names = JSON.stringify(typeof types === 'string' ? [types] : types)
  useEffect(
    () =>
      watchJobEnds(
        client,
        JSON.parse(names) as string[],
        {
          onJobFinished: (job) => latest.current.onJobFinished?.(job),
          onJobFailed: (job) => latest.current.onJobFailed?.(job),
          onJobCancelled: (job) => latest.current.onJobCancelled?.(job),
        },
        polling,
      ),
    [client, polling, names, latest],
  )
}
