import type { JobAttempt, JobDetail, JobId, JobPage, JobQuery, Me } from '../api/model'
import type { CreateJob, GetJob, JobTypes } from '../api/jobTypes'
import { plainCell, type CreateCell } from '../events/cell'
import type { EventFeed } from '../events/feed'
import type { Channel } from '../events/streamLease'
import { SharedFeed } from '../events/sharedFeed'
import { HoraeError, Unauthorized } from './errors'
import { createTransport, type Transport, type TransportOptions } from './transport'

export interface JobsApi {
  list: (query?: JobQuery, signal?: AbortSignal) => Promise<JobPage>
  /** Read a job with its parameters and result. */
  get: GetJob<JobTypes>
  attempts: (id: JobId, signal?: AbortSignal) => Promise<readonly JobAttempt[]>
  /** Start a job of a public type. */
  create: CreateJob<JobTypes>
  cancel: (id: JobId) => Promise<JobDetail>
  /** Retry a failed or cancelled job. Returns the new job. */
  retry: (id: JobId) => Promise<JobDetail>
  /** Move a pending job to another time. */
  reschedule: (id: JobId, time: { delay: string } | { run_at: string }) => Promise<JobDetail>
  /** Delete an ended job. Returns the job if the server does not know its type, so that another node will delete it. */
  delete: (id: JobId) => Promise<JobDetail | undefined>
}

/** The client of one server. */
export interface HoraeClient {
  readonly transport: Transport
  readonly jobs: JobsApi
  readonly events: EventFeed
  /** Read who the user is, and their permissions. */
  readonly me: () => Promise<Me>
  /** Use this token from now on, and notify the listeners of `onAuthorized`. Null removes the token. */
  authorize: (token: string | null) => void
  /** Call the listener after each `authorize`. Returns a function that removes it. */
  onAuthorized: (listener: () => void) => () => void
}

export interface ClientOptions extends Omit<TransportOptions, 'token'> {
  /** The initial token, or a function that returns the current one. */
  readonly token?: string | null | (() => string | null)
  /** A replacement for the server's event stream. */
  readonly feed?: EventFeed
  /** Whether all tabs of a user share one event stream. True by default. */
  readonly shareEvents?: boolean
}

/**
 * Create a client. It depends on no framework: `createCell` decides how the status of the event stream is held.
 */
export function createClient(
  options: ClientOptions = {},
  createCell: CreateCell = plainCell,
): HoraeClient {
  const { token: initial, feed, shareEvents = true, ...rest } = options
  const listeners = new Set<() => void>()
  let token = typeof initial === 'function' ? null : (initial ?? null)
  const currentToken = (): string | null =>
    token ?? (typeof initial === 'function' ? initial() : null)
  const transport = createTransport({ ...rest, token: currentToken })
  const events =
    feed ??
    new SharedFeed({
      open: (lastEventId, signal) => openEvents(transport, lastEventId, signal),
      audience: () => audienceOf(transport, rest.baseUrl ?? ''),
      channel: shareEvents ? openChannel() : null,
      createCell,
    })

  return {
    transport,
    jobs: jobsApi(transport),
    events,
    me: () => readUser(transport),
    authorize: (next) => {
      token = next
      events.reconnect()
      for (const listener of [...listeners]) listener()
    },
    onAuthorized: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function jobsApi(transport: Transport): JobsApi {
  const post = (path: string, body?: unknown): Promise<JobDetail> =>
    transport.json<JobDetail>('POST', `/api/jobs/${path}`, { body })
  return {
    list: (query, signal) => transport.json('GET', '/api/jobs/', { query: { ...query }, signal }),
    get: (id, signal) => transport.json('GET', `/api/jobs/${id}/`, { signal }),
    attempts: async (id, signal) => {
      const path = `/api/jobs/${id}/attempts/`
      return (await transport.json<{ attempts: JobAttempt[] }>('GET', path, { signal })).attempts
    },
    // The types of an application describe what its server sends; nothing else can check them.
    create: ((type: string, parameters: object = {}) =>
      post(`types/${encodeURIComponent(type)}/`, parameters)) as CreateJob<JobTypes>,
    cancel: (id) => post(`${id}/cancel/`),
    retry: (id) => post(`${id}/retry/`),
    reschedule: (id, time) => post(`${id}/reschedule/`, time),
    delete: (id) => transport.json('DELETE', `/api/jobs/${id}/`),
  }
}

function openEvents(
  transport: Transport,
  lastEventId: string | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array> | null> {
  const headers: Record<string, string> =
    lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }
  return transport.stream('/api/events/', { headers, signal })
}

function readUser(transport: Transport): Promise<Me> {
  return transport.json('GET', '/api/session/')
}

/** Return a key for the server and the user: tabs share an event stream only if both are the same. */
async function audienceOf(transport: Transport, baseUrl: string): Promise<string | null> {
  const address = new URL(`${baseUrl.replace(/\/$/, '')}/api/events/`, document.baseURI)
  try {
    const { id, sees_all } = await readUser(transport)
    return JSON.stringify([address.href, id, sees_all])
  } catch (error) {
    if (error instanceof HoraeError && !(error instanceof Unauthorized)) return null
    throw error
  }
}

function openChannel(): ((name: string) => Channel) | null {
  return typeof BroadcastChannel === 'undefined' ? null : (name) => new BroadcastChannel(name)
}
