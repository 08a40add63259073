import type { Job, JobEndCallbacks, JobId } from '@horae/client'
import { endOf, reportEnd } from '@horae/client/hooks'
import { useEffect, useRef, type RefObject } from 'react'

/** Call the callbacks once for each job that ends, and also for a job that had ended before it was passed. */
export function useJobEnd(
  id: JobId | null,
  job: Job | null,
  isGone: boolean,
  callbacks: Readonly<RefObject<JobEndCallbacks>>,
): void {
  // A reference outlives the second run of each effect in strict mode.
  const notifiedId = useRef<JobId | null>(null)
  useEffect(() => {
    const end = endOf(id, job, isGone)
    if (end === null) {
      notifiedId.current = null
    } else if (notifiedId.current !== end.id) {
      notifiedId.current = end.id
      reportEnd(end, callbacks.current)
    }
  }, [id, job, isGone, callbacks])
}
