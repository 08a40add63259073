import { computed, getCurrentScope, nextTick, watch, type Ref } from 'vue'

import type { Job, JobId } from '../api/model'
import { isEndedState, type EndedState } from '../job/states'

export interface JobEndCallbacks {
  readonly onJobFinished?: (job: Job) => void
  readonly onJobFailed?: (job: Job) => void
  readonly onJobCancelled?: (job: Job) => void
  /** The server no longer has the job; null if it was never seen. */
  readonly onJobGone?: (job: Job | null) => void
}

interface JobEnd {
  readonly id: JobId
  readonly how: EndedState | 'gone'
  readonly job: Job | null
}

/** Call back once for each job that ends, also for one that had ended before it was given. */
export function useJobEnd(
  current: Ref<JobId | null>,
  job: Ref<Job | null>,
  isGone: Ref<boolean>,
  callbacks: JobEndCallbacks,
): void {
  const end = computed(() => endOf(current.value, job.value, isGone.value))
  const scope = getCurrentScope()
  let told: JobId | null = null

  function tell(now: JobEnd | null): void {
    if (now === null) {
      told = null
    } else if (told !== now.id) {
      told = now.id
      callBack(now, callbacks)
    }
  }

  watch(end, tell)
  // Not at once: what the callbacks use may be declared after this call.
  void nextTick(() => {
    if (scope?.active !== false) tell(end.value)
  })
}

function endOf(id: JobId | null, job: Job | null, isGone: boolean): JobEnd | null {
  if (id === null) return null
  if (isGone) return { id, how: 'gone', job }
  return job && isEndedState(job.state) ? { id, how: job.state, job } : null
}

function callBack({ how, job }: JobEnd, callbacks: JobEndCallbacks): void {
  if (how === 'gone') callbacks.onJobGone?.(job)
  if (job === null) return
  if (how === 'finished') callbacks.onJobFinished?.(job)
  if (how === 'failed') callbacks.onJobFailed?.(job)
  if (how === 'cancelled') callbacks.onJobCancelled?.(job)
}
