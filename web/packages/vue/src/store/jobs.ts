import { defineStore } from 'pinia'
import { onScopeDispose } from 'vue'

import { JobTracker } from '../tracking/tracker'
import { useHorae } from './plugin'

/** The jobs of all components of a page. `JobTracker` documents the functions. */
export const useJobStore = defineStore('horae-jobs', () => {
  const { client, polling } = useHorae()
  const tracker = new JobTracker({ client, polling })
  onScopeDispose(() => tracker.dispose())

  return {
    status: tracker.status,
    session: tracker.session,
    jobs: tracker.jobs,
    unfinishedJobs: tracker.unfinishedJobs,
    get: tracker.get.bind(tracker),
    isGone: tracker.isGone.bind(tracker),
    create: tracker.create,
    track: tracker.track.bind(tracker),
    follow: tracker.follow.bind(tracker),
    load: tracker.load.bind(tracker),
    cancel: tracker.cancel.bind(tracker),
    retry: tracker.retry.bind(tracker),
    refresh: tracker.refresh.bind(tracker),
    forget: tracker.forget.bind(tracker),
    clear: tracker.clear.bind(tracker),
  }
})
