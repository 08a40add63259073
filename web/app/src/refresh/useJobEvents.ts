import { jobsOfEvent, type Job } from '@horae/vue'

import { useEvents } from './useEvents'

export interface JobEventHandlers {
  readonly onJob: (job: Job) => void
  /** Changes went by untold: read what is shown. */
  readonly onMissed: () => void
}

/** Hear of every change to jobs while somebody sees the page. */
export function useJobEvents(handlers: JobEventHandlers): void {
  useEvents((event) => {
    const { jobs, missed } = jobsOfEvent(event)
    for (const job of jobs) handlers.onJob(job)
    if (missed) handlers.onMissed()
  })
}
