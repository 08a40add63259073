import type { JobsApi } from '../client/client'
import type { Job, JobId, JobQuery } from '../api/model'

/** Ids in one question, so that its address stays short enough for every proxy. */
const IDS_AT_ONCE = 200

/** Every page of a list. */
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

/** All of the jobs asked for that the server has; what is missing from the answer does not exist. */
export async function listByIds(
  jobs: JobsApi,
  ids: readonly JobId[],
  signal?: AbortSignal,
): Promise<Job[]> {
  const found: Job[] = []
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    const some = ids.slice(start, start + IDS_AT_ONCE)
    found.push(...(await listAll(jobs, { job_ids: some }, signal)))
  }
  return found
}
