import {
  hasEnded,
  isOutdated,
  stateOf,
  useJob,
  useJobStore,
  type Job,
  type JobAttempt,
  type JobDetail,
} from '@horae/vue'
import { computed, shallowRef, watch, type ComputedRef, type Ref } from 'vue'

import { client } from '@/api/server'
import { errorText, notify } from '@/notices/notices'
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
  readonly cancelling: Readonly<Ref<boolean>>
  readonly cancel: () => Promise<void>
}

/** One job with its attempts, parameters and result, live. */
export function useJobDetail(id: () => number): UseJobDetailReturn {
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
  // Events are of use only until the end.
  const runningId = (): number | null =>
    story.data.value && !hasEnded(story.data.value.job) ? story.data.value.job.id : null
  const { job: live, jobIsGone } = useJob(runningId)
  // What the events do not tell, as the result and the attempts, is read when the state changes.
  watch(() => live.value && `${stateOf(live.value)} ${live.value.attempt}`, story.refresh)

  return {
    story,
    job: computed(() => merged(story.data.value?.job ?? null, live.value)),
    isGone: computed(() => jobIsGone.value || story.unavailable.value),
    ...useCancel(id, story),
  }
}

function useCancel(
  id: () => number,
  story: Resource<JobStory>,
): Pick<UseJobDetailReturn, 'cancel' | 'cancelling'> {
  const store = useJobStore()
  const cancelling = shallowRef(false)

  async function cancel(): Promise<void> {
    cancelling.value = true
    try {
      const job = await store.cancel(id())
      const seen = story.data.value
      if (seen) story.put({ ...seen, job: { ...seen.job, ...job } })
    } catch (error) {
      notify('failed', errorText(error))
    } finally {
      cancelling.value = false
      story.refresh()
    }
  }

  return { cancel, cancelling }
}

function isOver(job: JobDetail): boolean {
  return hasEnded(job) && job.node === null
}

function merged(detail: JobDetail | null, live: Job | null): JobDetail | null {
  if (detail === null || live?.id !== detail.id || isOutdated(live, detail)) return detail
  return { ...detail, ...live }
}
