import type { ServerSentEvent } from '@horae/vue'
import { onScopeDispose, watch } from 'vue'

import { client, isAnonymous } from '@/api/server'
import { usePageVisible } from './usePageVisible'

/** Receive the events of the server while the page is visible. */
export function useEvents(onEvent: (event: ServerSentEvent) => void): void {
  const visible = usePageVisible()
  let unsubscribe: (() => void) | null = null

  function stop(): void {
    unsubscribe?.()
    unsubscribe = null
  }

  watch(
    [visible, isAnonymous],
    () => {
      if (visible.value && !isAnonymous.value) unsubscribe ??= client.events.subscribe({ onEvent })
      else stop()
    },
    { immediate: true },
  )
  onScopeDispose(stop)
}
