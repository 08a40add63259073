import { parseJobEvent, type Job } from '@horae/vue'

import { useEvents } from './useEvents'

export interface JobEventHandlers {
  readonly onJob: (job: Job) => void
  /** Events were lost, so the data must be read again. */
  readonly onMissed: () => void
}

/** Receive every change of a job while the page is visible. */
export function useJobEvents(handlers: JobEventHandlers): void {
  useEvents((event) => {
    const { jobs, missed } = parseJobEvent(event)
    for (const job of jobs) handlers.onJob(job)
    if (missed) handlers.onMissed()
  })
}
