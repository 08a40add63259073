import type { Job } from '@horae/client'
import { computed, type ComputedRef } from 'vue'

import { useJobStore } from '../store/jobs'

/**
 * Return the known jobs for which the predicate holds, all of them without one, ordered by id: for example the imports of
 * one table that have not ended, `useJobs((job) => job.type === 'import_table' && isUnfinished(job))`.
 */
export function useJobs(
  predicate: (job: Job) => boolean = () => true,
): ComputedRef<readonly Job[]> {
  const store = useJobStore()
  return computed(() => store.jobs.filter(predicate))
}
