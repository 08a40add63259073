import {
  createClient as createPlainClient,
  type ClientOptions,
  type HoraeClient,
} from '@horae/client'
import { shallowRef } from 'vue'

/** Create a client whose `events.status.value` templates and watchers follow. */
export function createClient(options: ClientOptions = {}): HoraeClient {
  return createPlainClient(options, shallowRef)
}
