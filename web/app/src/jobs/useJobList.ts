import { hasEnded, isOutdated, stateOf, type Job, type JobId, type JobPage } from '@horae/vue'
import type { Ref } from 'vue'

import { client } from '@/api/server'
import { useJobEvents } from '@/refresh/useJobEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { useThrottled } from '@/refresh/useThrottled'
import { jobQueryOf, matches, type JobFilters } from './filters'
import { SERVER_ORDERS, serverOrder } from './order'

/** Milliseconds after which changed jobs are shown. */
const SHOWN_AFTER = 200

/** Read the page of jobs that matches the filters, and keep it up to date by events and polling. */
export function useJobList(filters: Ref<JobFilters>): Resource<JobPage> {
  const list: Resource<JobPage> = useResource(
    async (signal) => {
      const page = await client.jobs.list(jobQueryOf(filters.value), signal)
      return { ...page, jobs: page.jobs.map((job) => newest(job, list.data.value)) }
    },
    { key: () => JSON.stringify(filters.value), keepData: true },
  )
  const refreshSoon = useThrottled(list.refresh)
  // The rows change a few times a second at most, however many events there are: each change lays out the table.
  const changed = new Map<JobId, Job>()
  const showSoon = useThrottled(showChanges, SHOWN_AFTER)

  function showChanges(): void {
    const page = list.data.value
    if (page?.jobs.some((row) => changed.has(row.id))) {
      list.set({ ...page, jobs: page.jobs.map((row) => newest(changed.get(row.id) ?? row, page)) })
    }
    changed.clear()
  }

  useJobEvents({
    onMissed: refreshSoon,
    onJob: (job) => {
      const page = list.data.value
      const belongs = matches({ ...job, state: stateOf(job) }, filters.value.query)
      if (page?.jobs.some((row) => row.id === job.id)) {
        changed.set(job.id, job)
        showSoon()
        // The line of an error is only in the list.
        if (belongs === false || job.state === 'failed') refreshSoon()
        return
      }
      const byEnd = SERVER_ORDERS[serverOrder(filters.value.order)].by === 'ended'
      const mayAppear = belongs === true && (!byEnd || hasEnded(job))
      if (mayAppear && filters.value.cursor === null) refreshSoon()
    },
  })

  return list
}

/** Return the newer version of a job: a response may be older than an event that arrived during the request. */
function newest(job: Job, known: JobPage | null): Job {
  const row = known?.jobs.find((each) => each.id === job.id)
  return row && isOutdated(job, row) ? row : job
}
