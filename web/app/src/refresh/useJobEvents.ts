import { jobsOfEvent, type Job } from '@horae/vue'
import { onScopeDispose, watch } from 'vue'

import { client, isAnonymous } from '@/api/server'
import { usePageVisible } from './visibility'

export interface JobEventHandlers {
  readonly onJob: (job: Job) => void
  /** Changes went by untold: read what is shown. */
  readonly onMissed: () => void
}

/** Hear of every change to jobs while somebody sees the page. */
export function useJobEvents(handlers: JobEventHandlers): void {
  const visible = usePageVisible()
  let unsubscribe: (() => void) | null = null

  function listen(): void {
    unsubscribe ??= client.events.subscribe({
      onEvent: (event) => {
        const { jobs, missed } = jobsOfEvent(event)
        for (const job of jobs) handlers.onJob(job)
        if (missed) handlers.onMissed()
      },
    })
  }

  function stop(): void {
    unsubscribe?.()
    unsubscribe = null
  }

  watch(
    [visible, isAnonymous],
    () => {
      if (visible.value && !isAnonymous.value) listen()
      else stop()
    },
    { immediate: true },
  )
  onScopeDispose(stop)
}
