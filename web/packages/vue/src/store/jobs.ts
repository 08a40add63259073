import { defineStore } from 'pinia'
import { computed, onScopeDispose } from 'vue'

import { JobTracker } from '../tracking/reactiveTracker'
import { useHorae } from './plugin'

/** The jobs of all components of a page. `JobTracker` documents the functions. */
export const useJobStore = defineStore('horae-jobs', () => {
  const { client, polling } = useHorae()
  const tracker = new JobTracker({ client, polling })
  onScopeDispose(() => tracker.dispose())

  return {
    status: computed(() => tracker.status.value),
    session: computed(() => tracker.session.value),
    jobs: computed(() => tracker.jobs.value),
    unfinishedJobs: computed(() => tracker.unfinishedJobs.value),
    get: tracker.get,
    isGone: tracker.isGone,
    create: tracker.create,
    track: tracker.track,
    follow: tracker.follow,
    load: tracker.load,
    cancel: tracker.cancel,
    retry: tracker.retry,
    refresh: tracker.refresh,
    forget: tracker.forget,
    clear: tracker.clear,
  }
})
