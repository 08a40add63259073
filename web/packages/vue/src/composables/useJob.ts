import type { MaybeRefOrGetter } from 'vue'

import type { JobId } from '../api/model'
import { useJobStore } from '../store/jobs'
import { useHorae } from '../store/plugin'
import { createJobHandle, type UseJobOptions, type UseJobReturn } from './jobHandle'

/**
 * One job of a component: the one given by id, or the one handed to `createAndMonitorJob`. It is followed until the
 * scope ends; each callback is called once for each job.
 */
export function useJob(
  id: MaybeRefOrGetter<JobId | null | undefined> = null,
  options: UseJobOptions = {},
): UseJobReturn {
  const store = useJobStore()
  const { messages, labelText } = useHorae()
  const { get, isGone, track, follow, cancel } = store
  const keeper = { session: () => store.session, get, isGone, track, follow, cancel }
  return createJobHandle(keeper, messages, id, { labelText, ...options })
}
