import { hasEnded, type Job, type JobId, type JobQuery } from '@horae/vue'

import { client } from '@/api/server'
import { plural } from '@/format/number'
import { errorText } from '@/notices/notices'

export interface BulkAction {
  readonly name: 'cancel' | 'retry' | 'delete'
  readonly title: string
  /** What was done, after `3 jobs `. */
  readonly done: string
  /** Whether it makes sense for a job. */
  readonly applies: (job: Job) => boolean
  readonly run: (id: JobId) => Promise<unknown>
}

/** Delete an ended job; raises where it has to wait. */
export async function remove(id: JobId): Promise<void> {
  if ((await client.jobs.delete(id)) !== undefined) throw new Error(LEFT_TO_OTHERS)
}

const LEFT_TO_OTHERS =
  'this server does not know the job type; a node that knows it will delete the job'

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    name: 'cancel',
    title: 'Cancel',
    done: 'cancelled',
    applies: (job) => !hasEnded(job),
    run: (id) => client.jobs.cancel(id),
  },
  {
    name: 'retry',
    title: 'Retry',
    done: 'retried',
    applies: (job) => job.state === 'failed' || job.state === 'cancelled',
    run: (id) => client.jobs.retry(id),
  },
  {
    name: 'delete',
    title: 'Delete',
    done: 'deleted',
    applies: (job) => hasEnded(job),
    run: remove,
  },
]

export interface BulkResult {
  readonly done: number
  /** How many were refused, by reason. */
  readonly refused: ReadonlyMap<string, number>
}

const AT_ONCE = 4

/** Do it to each, a few at a time; one that is refused stops none of the others. */
export async function doAll(
  ids: readonly JobId[],
  run: (id: JobId) => Promise<unknown>,
): Promise<BulkResult> {
  const waiting = [...ids]
  const refused = new Map<string, number>()
  let done = 0

  async function work(): Promise<void> {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await run(id)
        done += 1
      } catch (error) {
        const reason = errorText(error)
        refused.set(reason, (refused.get(reason) ?? 0) + 1)
      }
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done, refused }
}

/** What came of it, in a sentence. */
export function resultText(
  { done, refused }: BulkResult,
  action: Pick<BulkAction, 'done'>,
): string {
  const text = `${plural(done, 'job')} ${action.done}.`
  const reasons = [...refused].map(
    ([reason, count]) => `${plural(count, 'job')} not ${action.done}: ${reason}`,
  )
  return [text, ...reasons].join(' ')
}

/** More than a hand may hold at once. */
export const MOST = 5000

/** Every job that matches, up to a bound. */
export async function allMatching(question: JobQuery): Promise<Job[]> {
  const found: Job[] = []
  let cursor: string | null = null
  do {
    const page = await client.jobs.list({ ...question, limit: 500, cursor })
    found.push(...page.jobs)
    cursor = page.next
  } while (cursor !== null && found.length < MOST)
  return found.slice(0, MOST)
}
