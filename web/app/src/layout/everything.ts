import { shallowRef } from 'vue'

import { server } from '@/api/server'
import { perform } from '@/notices/notices'
import { refreshNow } from '@/refresh/manualRefresh'
import { texts } from '@/texts/texts'

/** Whether everything is paused, as the banner on every page says. */
export const everythingIsPaused = shallowRef(false)

/** Pause all queues and schedules, with a note for other users. */
export async function pauseEverything(note: string | null): Promise<void> {
  await perform(() => server.pauseEverything(note), texts.value.layout.everythingWasPaused)
  refreshNow()
}

export async function resumeEverything(): Promise<void> {
  await perform(server.resumeEverything, texts.value.layout.everythingResumed)
  refreshNow()
}
