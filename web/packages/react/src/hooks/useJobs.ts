import type { Job } from '@horae/client'
import { useMemo } from 'react'

import { useHorae } from '../store/context'
import { useTracked } from './useTracked'

const NO_JOBS: readonly Job[] = []
const every = (): boolean => true

/**
 * Return the known jobs for which the predicate holds, ordered by id: for example the imports that have not ended,
 * `useJobs((job) => job.type === 'import_table' && isUnfinished(job))`. Without a predicate it returns all.
 */
export function useJobs(predicate: (job: Job) => boolean = every): readonly Job[] {
  const { store } = useHorae()
  const jobs = useTracked(() => store.jobs.value, NO_JOBS)
  return useMemo(() => jobs.filter(predicate), [jobs, predicate])
}
