import type { ClientOptions } from '@horae/client'

import { createClient } from '../client/reactiveClient'
import type { JobSource } from '../composables/jobHandle'
import { JobTracker } from '../tracking/reactiveTracker'

const sources = new Map<string, JobSource>()
let options: Omit<ClientOptions, 'baseUrl'> = {}

/** Set the client options of elements that are created from now on. */
export function configureElements(given: Omit<ClientOptions, 'baseUrl'>): void {
  options = given
  sources.clear()
}

/** Return the tracker for all elements of one server, so that they share one event stream and one polling loop. */
export function jobSourceFor(baseUrl: string): JobSource {
  const known = sources.get(baseUrl)
  if (known) return known
  const tracker = new JobTracker({ client: createClient({ ...options, baseUrl }) })
  const { get, isGone, track, follow, cancel } = tracker
  const source = { session: () => tracker.session.value, get, isGone, track, follow, cancel }
  sources.set(baseUrl, source)
  return source
}
