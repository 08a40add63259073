import type { JobAttempt, JobDetail, JobId, JobPage, JobQuery, Me } from '../api/model'
import type { EventFeed } from '../events/feed'
import type { Channel } from '../events/share'
import { SharedFeed } from '../events/shared'
import { HoraeError, Unauthorized } from './errors'
import { createTransport, type Transport, type TransportOptions } from './transport'

export interface JobsApi {
  list: (query?: JobQuery, signal?: AbortSignal) => Promise<JobPage>
  /** A job with its parameters and result. */
  get: (id: JobId, signal?: AbortSignal) => Promise<JobDetail>
  attempts: (id: JobId, signal?: AbortSignal) => Promise<readonly JobAttempt[]>
  /** Start a job of a public type. */
  create: (type: string, parameters?: Readonly<Record<string, unknown>>) => Promise<JobDetail>
  cancel: (id: JobId) => Promise<JobDetail>
  /** Start a failed or cancelled job anew; the answer is the new job. */
  retry: (id: JobId) => Promise<JobDetail>
  /** Delete an ended job. Gives the job where the server does not know its type and leaves it to a node that does. */
  delete: (id: JobId) => Promise<JobDetail | undefined>
}

/** One server, as a page sees it. */
export interface HoraeClient {
  readonly transport: Transport
  readonly jobs: JobsApi
  readonly events: EventFeed
  /** Who the server takes the user for. */
  readonly me: () => Promise<Me>
  /** Use this token from now on and tell all who wait for one; null forgets it. */
  authorize: (token: string | null) => void
  /** Be told of every `authorize`. */
  onAuthorized: (listener: () => void) => () => void
}

export interface ClientOptions extends Omit<TransportOptions, 'token'> {
  /** The first token, or how to find the present one. */
  readonly token?: string | null | (() => string | null)
  /** In place of the server's own stream of events. */
  readonly feed?: EventFeed
  /** One stream of events for all tabs of a user, true unless given; false: one a tab. */
  readonly shareEvents?: boolean
}

export function createClient(options: ClientOptions = {}): HoraeClient {
  const { token: given, feed, shareEvents = true, ...rest } = options
  const listeners = new Set<() => void>()
  let token = typeof given === 'function' ? null : (given ?? null)
  const present = (): string | null => token ?? (typeof given === 'function' ? given() : null)
  const transport = createTransport({ ...rest, token: present })
  const events =
    feed ??
    new SharedFeed({
      open: (last, signal) => openEvents(transport, last, signal),
      audience: () => audienceOf(transport, rest.baseUrl ?? ''),
      channel: shareEvents ? openChannel() : null,
    })

  return {
    transport,
    jobs: jobsApi(transport),
    events,
    me: () => whoAmI(transport),
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
    create: (type, parameters = {}) => post(`types/${encodeURIComponent(type)}/`, parameters),
    cancel: (id) => post(`${id}/cancel/`),
    retry: (id) => post(`${id}/retry/`),
    delete: (id) => transport.json('DELETE', `/api/jobs/${id}/`),
  }
}

function openEvents(
  transport: Transport,
  lastEventId: string | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const headers: Record<string, string> =
    lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }
  return transport.stream('/api/events/', { headers, signal })
}

function whoAmI(transport: Transport): Promise<Me> {
  return transport.json('GET', '/api/session/')
}

/** Whose events the server sends, and which server: tabs share a stream only where both are the same. */
async function audienceOf(transport: Transport, baseUrl: string): Promise<string | null> {
  const address = new URL(`${baseUrl.replace(/\/$/, '')}/api/events/`, document.baseURI)
  try {
    const { id, sees_all } = await whoAmI(transport)
    return JSON.stringify([address.href, id, sees_all])
  } catch (error) {
    if (error instanceof HoraeError && !(error instanceof Unauthorized)) return null
    throw error
  }
}

function openChannel(): ((name: string) => Channel) | null {
  return typeof BroadcastChannel === 'undefined' ? null : (name) => new BroadcastChannel(name)
}
