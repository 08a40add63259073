import type { Job, JobEndCallbacks, JobId } from '@horae/client'
import { endOf, reportEnd, type JobEnd } from '@horae/client/hooks'
import { computed, getCurrentScope, nextTick, watch, type Ref } from 'vue'

/** Call the callbacks once for each job that ends, and also for a job that had ended before it was passed. */
export function useJobEnd(
  current: Ref<JobId | null>,
  job: Ref<Job | null>,
  isGone: Ref<boolean>,
  callbacks: JobEndCallbacks,
): void {
  const end = computed(() => endOf(current.value, job.value, isGone.value))
  const scope = getCurrentScope()
  let notifiedId: JobId | null = null

  function notify(jobEnd: JobEnd | null): void {
    if (jobEnd === null) {
      notifiedId = null
    } else if (notifiedId !== jobEnd.id) {
      notifiedId = jobEnd.id
      reportEnd(jobEnd, callbacks)
    }
  }

  watch(end, notify)
  // Not immediately: the callbacks may use variables that the component declares after this call.
  void nextTick(() => {
    if (scope?.active !== false) notify(end.value)
  })
}
