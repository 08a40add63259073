import type { RouteLocationRaw } from 'vue-router'

import { startBulk, type BulkBody } from '@/api/bulk'
import type { Problem } from '@/api/model'
import { server } from '@/api/server'
import { schedules } from '@/api/schedules'
import { texts } from '@/texts/texts'

export type Deed = Problem['deeds'][number]
type About = NonNullable<Problem['about']>

/** Name what a problem is about: `Queue mail`. */
export function subjectOf({ about }: Problem): string {
  return about === null ? '' : texts.value.now.about[about.noun](about.name)
}

/** Return the page of what a problem is about; null if it has none. */
export function pageOf({ about }: Problem): RouteLocationRaw | null {
  switch (about?.noun) {
    case 'queue':
      return { name: 'queue', params: { name: about.name } }
    case 'schedule':
      return about.id === null
        ? { name: 'schedules', query: { name: about.name } }
        : { name: 'schedule', params: { id: about.id } }
    case 'type':
      return { name: 'errors', query: { type: about.name } }
    case 'node':
      return { name: 'fleet' }
    case 'limit':
      return { name: 'limits' }
    case 'everything':
    case undefined:
      return null
  }
}

/** Return the list of the jobs that a problem counted. */
export function jobsOf({ counted }: Problem): RouteLocationRaw | null {
  return counted === null ? null : { name: 'jobs', query: { q: counted.query } }
}

/** The body of a request that retries what a problem counted. */
export function retryBody({ counted }: Problem): BulkBody {
  return { query: counted?.query }
}

/** Start a job that retries what a problem counted, except what was retried before, and return its page. */
export async function retry(problem: Problem): Promise<RouteLocationRaw> {
  const { id } = await startBulk('retry', retryBody(problem))
  return { name: 'job', params: { id } }
}

/** Pause or resume what a problem is about. Returns what to tell the user. */
export async function act(
  deed: Exclude<Deed, 'retry'>,
  problem: Problem,
  note: string | null,
): Promise<string> {
  const { about } = problem
  const words = texts.value.now
  if (about === null) throw new Error('the problem is about nothing that could be changed')
  await (deed === 'resume' ? resume(about) : pause(about, note))
  return deed === 'resume' ? words.resumed(subjectOf(problem)) : words.paused(subjectOf(problem))
}

function resume({ noun, name, id }: About): Promise<unknown> {
  if (noun === 'everything') return server.resumeEverything()
  return noun === 'queue' ? server.resumeQueue(name) : schedules.resume(Number(id))
}

function pause({ noun, name, id }: About, note: string | null): Promise<unknown> {
  if (noun === 'everything') return server.pauseEverything(note)
  return noun === 'queue' ? server.pauseQueue(name, note) : schedules.pause(Number(id), note)
}
