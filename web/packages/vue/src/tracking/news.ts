import type { Job } from '../api/model'
import type { ServerSentEvent } from '../events/parser'

/** What an event of the server says about jobs. */
export interface JobNews {
  readonly jobs: readonly Job[]
  /** Changes went by untold, so whoever shows jobs must read them. */
  readonly missed: boolean
}

const NOTHING: JobNews = { jobs: [], missed: false }

/** Read an event; of other things, of unknown kinds or not understood, it is no news. */
export function jobsOfEvent(event: ServerSentEvent): JobNews {
  const body = parsed(event.data)
  if (event.type === 'reset') return { jobs: [], missed: true }
  if (event.type === 'hello') return { jobs: [], missed: body?.['resumed'] !== true }
  if (event.type !== 'job' || typeof body?.['id'] !== 'number') return NOTHING
  return { jobs: [body as unknown as Job], missed: false }
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null
  } catch {
    return null
  }
}
