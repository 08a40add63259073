import { hasEnded, type Job, type JobId, type JobQuery } from '@horae/vue'

import { client } from '@/api/server'
import { errorText } from '@/notices/notices'
import { texts } from '@/texts/texts'

export interface BulkAction {
  readonly name: 'cancel' | 'retry' | 'delete'
  /** Whether the action is possible for a job. */
  readonly applies: (job: Job) => boolean
  readonly run: (id: JobId) => Promise<unknown>
}

/** Delete an ended job. Throws if another node has to delete it. */
export async function deleteJob(id: JobId): Promise<void> {
  if ((await client.jobs.delete(id)) !== undefined) throw new Error(texts.value.jobs.deletedLater)
}

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    name: 'cancel',
    applies: (job) => !hasEnded(job),
    run: (id) => client.jobs.cancel(id),
  },
  {
    name: 'retry',
    applies: (job) => job.state === 'failed' || job.state === 'cancelled',
    run: (id) => client.jobs.retry(id),
  },
  {
    name: 'delete',
    applies: (job) => hasEnded(job),
    run: deleteJob,
  },
]

export interface BulkResult {
  readonly done: number
  /** The number of jobs for which the action failed, by reason. */
  readonly failures: ReadonlyMap<string, number>
}

/** The number of requests in progress at a time. */
const CONCURRENCY = 4

/** Run an action for each job, a few at a time. A failure does not stop the others. */
export async function runForEach(
  ids: readonly JobId[],
  run: (id: JobId) => Promise<unknown>,
): Promise<BulkResult> {
  const remaining = [...ids]
  const failures = new Map<string, number>()
  let done = 0

  async function worker(): Promise<void> {
    for (let id = remaining.shift(); id !== undefined; id = remaining.shift()) {
      try {
        await run(id)
        done += 1
      } catch (error) {
        const reason = errorText(error)
        failures.set(reason, (failures.get(reason) ?? 0) + 1)
      }
    }
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return { done, failures }
}

/** Describe the result of an action. */
export function resultText(
  { done, failures }: BulkResult,
  action: Pick<BulkAction, 'name'>,
): string {
  const words = texts.value.jobs
  const reasons = [...failures].map(([reason, count]) => words.notDone[action.name](count, reason))
  return [words.done[action.name](done), ...reasons].join(' ')
}

/** The largest number of jobs that can be selected. */
export const MAX_SELECTION = 5000

/** Read all jobs that match a query, up to `MAX_SELECTION`. */
export async function allMatching(query: JobQuery): Promise<Job[]> {
  const found: Job[] = []
  let cursor: string | null = null
  do {
    const page = await client.jobs.list({ ...query, limit: 500, cursor })
    found.push(...page.jobs)
    cursor = page.next
  } while (cursor !== null && found.length < MAX_SELECTION)
  return found.slice(0, MAX_SELECTION)
}
