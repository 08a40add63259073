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

import type { JobWhy } from '@/api/model'
import { client, server } from '@/api/server'
import { errorText, notify } from '@/notices/notices'
import { useResource, type Resource } from '@/refresh/useResource'

export interface JobWithAttempts {
  readonly job: JobDetail
  readonly attempts: readonly JobAttempt[]
  readonly why: JobWhy
}

export interface UseJobDetailReturn {
  /** The job as last read, with its attempts. */
  readonly detail: Resource<JobWithAttempts>
  /** The newest known version of the job: as read from the server, updated by events. */
  readonly job: ComputedRef<JobDetail | null>
  readonly isGone: ComputedRef<boolean>
  readonly cancelling: Readonly<Ref<boolean>>
  readonly cancel: () => Promise<void>
}

/** Read one job with its attempts, parameters and result, and keep it up to date. */
export function useJobDetail(id: () => number): UseJobDetailReturn {
  const detail: Resource<JobWithAttempts> = useResource(
    async (signal) => {
      const [job, attempts, why] = await Promise.all([
        client.jobs.get(id(), signal),
        client.jobs.attempts(id(), signal),
        server.why(id(), signal),
      ])
      return { job, attempts, why }
    },
    // An ended job does not change. But after a cancellation its function may still run for a moment.
    { key: id, isFinal: () => detail.data.value !== null && isSettled(detail.data.value.job) },
  )
  // Only a job that has not ended needs events.
  const runningId = (): number | null =>
    detail.data.value && !hasEnded(detail.data.value.job) ? detail.data.value.job.id : null
  const { job: live, jobIsGone } = useJob(runningId)
  // Events do not contain the result and the attempts, so these are read when the state changes.
  watch(() => live.value && `${stateOf(live.value)} ${live.value.attempt}`, detail.refresh)

  return {
    detail,
    job: computed(() => merged(detail.data.value?.job ?? null, live.value)),
    isGone: computed(() => jobIsGone.value || detail.unavailable.value),
    ...useCancel(id, detail),
  }
}

function useCancel(
  id: () => number,
  detail: Resource<JobWithAttempts>,
): Pick<UseJobDetailReturn, 'cancel' | 'cancelling'> {
  const store = useJobStore()
  const cancelling = shallowRef(false)

  async function cancel(): Promise<void> {
    cancelling.value = true
    try {
      const job = await store.cancel(id())
      const current = detail.data.value
      if (current) detail.set({ ...current, job: { ...current.job, ...job } })
    } catch (error) {
      notify('failed', errorText(error))
    } finally {
      cancelling.value = false
      detail.refresh()
    }
  }

  return { cancel, cancelling }
}

function isSettled(job: JobDetail): boolean {
  return hasEnded(job) && job.node === null
}

function merged(read: JobDetail | null, live: Job | null): JobDetail | null {
  if (read === null || live?.id !== read.id || isOutdated(live, read)) return read
  return { ...read, ...live }
}
