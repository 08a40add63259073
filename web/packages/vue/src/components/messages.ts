import { computed, inject, type ComputedRef } from 'vue'

import { messagesFor, type Messages } from '../i18n/messages'
import { horaeKey } from '../store/plugin'

/** The application's texts; English where nothing is installed, so that a bar can be used alone. */
export function useMessages(): ComputedRef<Messages> {
  return inject(horaeKey, null)?.messages ?? computed(() => messagesFor('en'))
}
