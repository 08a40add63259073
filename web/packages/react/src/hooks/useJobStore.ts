import type { JobTracker, TrackerStatus } from '@horae/client'

import { useHorae } from '../store/context'
import { useTracked } from './useTracked'

/**
 * Return the jobs of all components of the page, with the functions that start, follow and cancel them. It does not render
 * again when they change: `useJob`, `useJobs` and `useStatus` do.
 */
export function useJobStore(): JobTracker {
  return useHorae().store
}

/** Return how the jobs of the page are updated at present. */
export function useStatus(): TrackerStatus {
  const { store } = useHorae()
  return useTracked(() => store.status.value, 'idle')
}
