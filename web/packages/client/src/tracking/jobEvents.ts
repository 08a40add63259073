import type { Job } from '../api/model'
import type { ServerSentEvent } from '../events/parser'

/** What a server-sent event changes about jobs. */
export interface JobChanges {
  readonly jobs: readonly Job[]
  /** Events were lost, so the jobs on the page must be read again. */
  readonly missed: boolean
}

const NO_CHANGES: JobChanges = { jobs: [], missed: false }

/** Parse an event. Events about other things, of unknown types or with invalid content change nothing. */
export function parseJobEvent(event: ServerSentEvent): JobChanges {
  const body = parseObject(event.data)
  if (event.type === 'reset') return { jobs: [], missed: true }
  if (event.type === 'hello') return { jobs: [], missed: body?.['resumed'] !== true }
  if (event.type !== 'job' || typeof body?.['id'] !== 'number') return NO_CHANGES
  return { jobs: [body as unknown as Job], missed: false }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null
  } catch {
    return null
  }
}
