import type { JobsApi } from '../client/client'
import type { Job, JobId, JobQuery, Me } from '../api/model'

/** The number of ids in one request: proxies limit the length of a URL. */
const IDS_PER_REQUEST = 200

/** Return the query for the user's own unfinished jobs; staff also see those of others. */
export function unfinishedJobsOf({ id, sees_all }: Me): JobQuery {
  const states = ['!finished', '!failed', '!cancelled']
  return sees_all ? { states, owner: id } : { states }
}

/** Read all pages of a list. */
export async function listAll(
  jobs: JobsApi,
  query: JobQuery,
  signal?: AbortSignal,
): Promise<Job[]> {
  const found: Job[] = []
  let cursor: string | null = null
  do {
    const page = await jobs.list(cursor === null ? query : { ...query, cursor }, signal)
    found.push(...page.jobs)
    cursor = page.next
  } while (cursor !== null)
  return found
}

/** Read jobs by id. A job that is missing from the result does not exist on the server. */
export async function listByIds(
  jobs: JobsApi,
  ids: readonly JobId[],
  signal?: AbortSignal,
): Promise<Job[]> {
  const found: Job[] = []
  for (let start = 0; start < ids.length; start += IDS_PER_REQUEST) {
    const batch = ids.slice(start, start + IDS_PER_REQUEST)
    found.push(...(await listAll(jobs, { job_ids: batch }, signal)))
  }
  return found
}
