import { errorOf, Unauthorized, Unreachable } from './errors'

export type QueryValue = string | number | boolean | readonly (string | number)[] | null | undefined
export type Query = Readonly<Record<string, QueryValue>>

export interface RequestOptions {
  readonly query?: Query | undefined
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

export interface TransportOptions {
  /** The address of the server without `/api`. An empty string is the page's own origin. */
  readonly baseUrl?: string
  /** Return the token to send. It is called before each request, so a login takes effect immediately. */
  readonly token?: () => string | null
  /** Return additional headers for each request. */
  readonly headers?: () => Record<string, string>
  readonly fetch?: typeof globalThis.fetch
  /** Milliseconds after which a request is aborted; 30,000 by default. */
  readonly timeout?: number
  /** Called when the server answers that authentication is required. */
  readonly onUnauthorized?: () => void
}

/** JSON over HTTP with typed errors. */
export interface Transport {
  /** @throws {HoraeError} The server answered with an error. @throws {Unreachable} The server did not answer. */
  json: <Body>(method: string, path: string, options?: RequestOptions) => Promise<Body>
  /** Open a stream of server-sent events; null if the server says, by 204, that there is none. */
  stream: (path: string, options: StreamOptions) => Promise<ReadableStream<Uint8Array> | null>
}

export interface StreamOptions {
  readonly headers: Record<string, string>
  readonly signal: AbortSignal
}

export function createTransport(options: TransportOptions = {}): Transport {
  const timeout = options.timeout ?? 30_000
  return {
    json: <Body>(method: string, path: string, request: RequestOptions = {}) =>
      withTimeout(timeout, request.signal, async (signal) => {
        const init = { ...initOf(method, request.body), signal }
        const response = await send(options, path + queryText(request.query), init)
        const empty = response.status === 204
        return (empty ? undefined : await orUnreachable(() => response.json())) as Body
      }),
    stream: async (path, { headers, signal }) => {
      const init = { headers: { Accept: 'text/event-stream', ...headers }, signal }
      const response = await send(options, path, init)
      if (response.status === 204) return null
      const type = response.headers.get('Content-Type') ?? ''
      if (type.startsWith('text/event-stream') && response.body) return response.body
      throw new Unreachable('the server did not send an event stream')
    },
  }
}

function initOf(method: string, body: unknown): RequestInit {
  // This type on every change prevents cross-site request forgery: an HTML form of another site cannot send it.
  const type = method === 'GET' ? {} : { 'Content-Type': 'application/json' }
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  return { method, headers: { Accept: 'application/json', ...type }, ...content }
}

async function send(options: TransportOptions, path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  const token = options.token?.()
  if (token) headers.set('Authorization', `Bearer ${token}`)
  for (const [name, value] of Object.entries(options.headers?.() ?? {})) headers.set(name, value)
  const url = (options.baseUrl ?? '').replace(/\/$/, '') + path
  const response = await orUnreachable(() => (options.fetch ?? fetch)(url, { ...init, headers }))
  if (response.ok) return response
  const error = await errorOf(response)
  if (error instanceof Unauthorized) options.onUnauthorized?.()
  throw error
}

/** Build the query string of a URL. Lists are joined by commas; null, undefined and empty values are left out. */
export function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
    if (text !== '') parameters.set(name, text)
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

/** Report every failure of the request as `Unreachable`. */
async function orUnreachable<Value>(attempt: () => Promise<Value>): Promise<Value> {
  try {
    return await attempt()
  } catch (cause) {
    throw new Unreachable('the server cannot be reached', { cause })
  }
}

/** Abort after `limit` milliseconds, or when `outer` is aborted. */
async function withTimeout<Value>(
  limit: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const abort = (): void => controller.abort(outer?.reason)
  const timer = setTimeout(abort, limit)
  if (outer?.aborted) abort()
  outer?.addEventListener('abort', abort, { once: true })
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', abort)
  }
}
