import { isOutdated, stateOf, type Job, type JobPage } from '@horae/vue'
import { onScopeDispose, type Ref } from 'vue'

import { client } from '@/api/server'
import { useJobEvents } from '@/refresh/useJobEvents'
import { useResource, type Resource } from '@/refresh/useResource'
import { fits, questionOf, type JobFilters } from './filters'

/** New jobs may come by the hundred; the list is read anew once a second at most. */
const READ_AFTER = 1000

/** The page of jobs that the filters ask for, kept up to date by events and by looking again. */
export function useJobList(filters: Ref<JobFilters>): Resource<JobPage> {
  const list: Resource<JobPage> = useResource(
    async (signal) => {
      const page = await client.jobs.list(questionOf(filters.value), signal)
      return { ...page, jobs: page.jobs.map((job) => newest(job, list.data.value)) }
    },
    { subject: () => JSON.stringify(filters.value), keep: true },
  )
  let timer: ReturnType<typeof setTimeout> | undefined

  function readSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      list.refresh()
    }, READ_AFTER)
  }

  useJobEvents({
    onMissed: readSoon,
    onJob: (job) => {
      const page = list.data.value
      const belongs = fits({ ...job, state: stateOf(job) }, filters.value)
      if (page?.jobs.some((row) => row.id === job.id)) {
        list.put({ ...page, jobs: page.jobs.map((row) => (row.id === job.id ? job : row)) })
        if (!belongs) readSoon()
      } else if (belongs && filters.value.cursor === null) {
        readSoon()
      }
    },
  })
  onScopeDispose(() => clearTimeout(timer))
  return list
}

/** An answer may be older than an event that came while it travelled. */
function newest(job: Job, known: JobPage | null): Job {
  const row = known?.jobs.find((each) => each.id === job.id)
  return row && isOutdated(job, row) ? row : job
}
