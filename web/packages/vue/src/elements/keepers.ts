import { createClient, type ClientOptions } from '../client/client'
import type { JobKeeper } from '../composables/jobHandle'
import { JobTracker } from '../tracking/tracker'

const keepers = new Map<string, JobKeeper>()
let options: Omit<ClientOptions, 'baseUrl'> = {}

/** How elements made from now on speak to their servers. */
export function configureElements(given: Omit<ClientOptions, 'baseUrl'>): void {
  options = given
  keepers.clear()
}

/** One tracker for all elements of one server, so that they share its stream and its loop. */
export function keeperOf(baseUrl: string): JobKeeper {
  const known = keepers.get(baseUrl)
  if (known) return known
  const tracker = new JobTracker({ client: createClient({ ...options, baseUrl }) })
  const keeper: JobKeeper = {
    session: () => tracker.session.value,
    get: (id) => tracker.get(id),
    isGone: (id) => tracker.isGone(id),
    track: (job) => tracker.track(job),
    follow: (id) => tracker.follow(id),
    cancel: (id) => tracker.cancel(id),
  }
  keepers.set(baseUrl, keeper)
  return keeper
}
