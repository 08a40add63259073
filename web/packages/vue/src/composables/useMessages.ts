import { messagesFor, type Messages } from '@horae/client'
import { computed, inject, type ComputedRef } from 'vue'

import { messagesKey } from '../store/plugin'

/**
 * Return the texts of the application. Without the plugin they are English, so that the progress bar also works
 * alone.
 */
export function useMessages(): ComputedRef<Messages> {
  return inject(messagesKey, null) ?? computed(() => messagesFor('en'))
}
