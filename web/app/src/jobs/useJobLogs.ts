import { shallowRef } from 'vue'

import { client } from '@/api/server'
import { useResource, type Resource } from '@/refresh/useResource'
import type { LogLine, LogPage } from '@/api/model'

/** The number of lines that the page keeps; the oldest ones go first. */
export const MOST_LINES = 2000
const PAGE = 500
/** Seconds between two requests while a job may still log. */
const SECONDS = 1

export interface JobLogs {
  readonly lines: readonly LogLine[]
  /** The number of lines of the job that were not kept. */
  readonly dropped: number
}

/** Read the log lines of a job, and follow them until it has ended. */
export function useJobLogs(id: () => number, hasSettled: () => boolean): Resource<JobLogs> {
  const logs: Resource<JobLogs> = useResource<JobLogs>(
    async (signal) => {
      const job = id()
      const known = logs.data.value
      let lines = known?.lines ?? []
      let page: LogPage
      let after = lines.at(-1)?.cursor ?? null
      do {
        page = await pageAfter(job, after, signal)
        lines = [...lines, ...page.lines].slice(-MOST_LINES)
        after = page.next
      } while (page.more && after !== null)
      return { lines, dropped: page.dropped }
    },
    { key: id, seconds: shallowRef(SECONDS), isFinal: hasSettled },
  )
  return logs
}

function pageAfter(id: number, after: string | null, signal: AbortSignal): Promise<LogPage> {
  const query = { after, limit: PAGE }
  return client.transport.json('GET', `/api/jobs/${id}/logs/`, { query, signal })
}
