import {
  hasEnded,
  isOutdated,
  stateOf,
  useJob,
  type Job,
  type JobAttempt,
  type JobDetail,
} from '@horae/vue'
import { computed, watch, type ComputedRef } from 'vue'

import { client } from '@/api/server'
import { notify } from '@/notices/notices'
import { useResource, type Resource } from '@/refresh/useResource'

export interface JobStory {
  readonly job: JobDetail
  readonly attempts: readonly JobAttempt[]
}

export interface UseJobDetailReturn {
  readonly story: Resource<JobStory>
  /** The job as it is known best: read with all there is to it, and moved by events. */
  readonly job: ComputedRef<JobDetail | null>
  readonly isGone: ComputedRef<boolean>
  readonly cancelling: Readonly<ReturnType<typeof useJob>['cancelLoading']>
  readonly cancel: () => Promise<void>
}

/** One job with its attempts, parameters and result, live. */
export function useJobDetail(id: () => number): UseJobDetailReturn {
  const {
    job: live,
    jobIsGone,
    cancelLoading,
    cancelJob,
  } = useJob(id, {
    showError: ({ error, message }) => notify('failed', `${error}: ${message}`),
  })
  const story: Resource<JobStory> = useResource(
    async (signal) => {
      const [job, attempts] = await Promise.all([
        client.jobs.get(id(), signal),
        client.jobs.attempts(id(), signal),
      ])
      return { job, attempts }
    },
    // An ended job changes no more; but for a moment after a cancel its body may not have stopped.
    { subject: id, rest: () => story.data.value !== null && isOver(story.data.value.job) },
  )
  // What the events do not tell, as the result and the attempts, is read when the state changes.
  watch(() => live.value && `${stateOf(live.value)} ${live.value.attempt}`, story.refresh)

  return {
    story,
    job: computed(() => merged(story.data.value?.job ?? null, live.value)),
    isGone: computed(() => jobIsGone.value || story.unavailable.value),
    cancelling: cancelLoading,
    cancel: cancelJob,
  }
}

function isOver(job: JobDetail): boolean {
  return hasEnded(job) && job.node === null
}

function merged(detail: JobDetail | null, live: Job | null): JobDetail | null {
  if (detail === null || live?.id !== detail.id || isOutdated(live, detail)) return detail
  return { ...detail, ...live }
}
