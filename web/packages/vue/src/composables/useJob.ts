import type { JobId } from '@horae/client'
import type { MaybeRefOrGetter } from 'vue'

import { useJobStore } from '../store/jobs'
import { useHorae } from '../store/plugin'
import { createJobHandle, type UseJobOptions, type UseJobReturn } from './jobHandle'

/**
 * Follow one job until the scope ends: the job with the given id, or the one passed to `createAndMonitorJob`. Each
 * callback is called once per job.
 */
export function useJob(
  id: MaybeRefOrGetter<JobId | null | undefined> = null,
  options: UseJobOptions = {},
): UseJobReturn {
  const store = useJobStore()
  const { messages, labelText } = useHorae()
  const { get, isGone, track, follow, cancel } = store
  const source = { session: () => store.session, get, isGone, track, follow, cancel }
  return createJobHandle(source, messages, id, { labelText, ...options })
}
