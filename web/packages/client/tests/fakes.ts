import { vi } from 'vitest'

import { createClient, type ClientOptions, type HoraeClient, type Job } from '../src'

const EPOCH = Date.UTC(2030, 0, 1)

/** A job as the API returns it, with `updated_on` the given `age` in seconds after the others'. */
export function jobOf(
  id: number,
  state = 'pending',
  more: Partial<Job> & { age?: number } = {},
): Job {
  const { age = 0, ...rest } = more
  const timestamp = (seconds: number): string => new Date(EPOCH + seconds * 1000).toISOString()
  return {
    id,
    type: 'import_csv',
    state,
    progress_percentage: 0,
    human_readable_error: '',
    created_on: timestamp(0),
    updated_on: timestamp(age),
    started_on: null,
    finished_on: null,
    due_on: timestamp(0),
    label: null,
    owner: 'alice',
    queue: 'default',
    priority: 0,
    attempt: 0,
    max_attempts: 1,
    node: null,
    cancelled_by: null,
    tags: [],
    ...rest,
  }
}

export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  readonly at: number
}

/** An open event stream. */
export interface FakeStream {
  readonly lastEventId: string | null
  send: (text: string) => void
  job: (job: Job, id?: string) => void
  end: () => void
}

type Answer = Response | Error

/** A server in memory whose responses can be errors or be delayed. */
export class FakeServer {
  readonly jobs = new Map<number, Job>()
  readonly requests: FakeRequest[] = []
  readonly streams: FakeStream[] = []
  me = {
    id: 'alice',
    roles: [],
    sees_all: false,
    sees_values: false,
    changes_all: false,
    changes_own: true,
  }
  /** Whether the server offers an event stream. */
  streaming = false
  /** Replacements for the next responses. */
  readonly failures: (() => Answer)[] = []
  /** Replaces all responses. */
  broken: (() => Answer) | null = null
  readonly #delays: Promise<void>[] = []

  get polls(): FakeRequest[] {
    return this.requests.filter(
      (request) => request.path === '/api/jobs/' && request.query.has('job_ids'),
    )
  }

  put(...jobs: Job[]): void {
    for (const job of jobs) this.jobs.set(job.id, job)
  }

  client(options: Partial<ClientOptions> = {}): HoraeClient {
    return createClient({ fetch: this.fetch, shareEvents: false, ...options })
  }

  /** Compute the response to the next request when it arrives, but send it when the returned function is called. */
  hold(): () => void {
    let release: () => void = () => undefined
    this.#delays.push(new Promise((resolve) => (release = resolve)))
    return () => release()
  }

  readonly fetch = vi.fn(
    async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
      const url = new URL(input as string, 'http://horae.test')
      const request = {
        method: init.method ?? 'GET',
        path: url.pathname,
        query: url.searchParams,
        headers: new Headers(init.headers),
        at: Date.now(),
      }
      this.requests.push(request)
      const delay = request.path === '/api/events/' ? undefined : this.#delays.shift()
      const answer = this.#failure(request.path) ?? this.#answer(request, init)
      await delay
      if (init.signal?.aborted) throw new DOMException('aborted', 'AbortError')
      if (answer instanceof Error) throw answer
      return answer
    },
  )

  #failure(path: string): Answer | undefined {
    const next = path === '/api/events/' ? undefined : this.failures.shift()
    return (next ?? this.broken)?.()
  }

  #answer(request: FakeRequest, init: RequestInit): Answer {
    const [, id, action] = /^\/api\/jobs\/(\d+)\/(?:(\w+)\/)?$/.exec(request.path) ?? []
    if (request.path === '/api/events/') return this.#open(request, init.signal ?? null)
    if (request.path === '/api/session/') return json(this.me)
    if (request.path === '/api/jobs/') return this.#list(request.query)
    const [, type] = /^\/api\/jobs\/types\/(\w+)\/$/.exec(request.path) ?? []
    const job = type ? this.#create(type) : this.jobs.get(Number(id))
    if (!job) return errorResponse(404, 'ERROR_JOB_DOES_NOT_EXIST')
    return action === 'cancel' ? this.#cancel(job) : json(job)
  }

  #list(query: URLSearchParams): Response {
    const ids = query.get('job_ids')?.split(',').map(Number)
    const active = [...this.jobs.values()].filter(
      (job) => !['finished', 'failed', 'cancelled'].includes(job.state),
    )
    return json({ jobs: ids ? ids.flatMap((id) => this.jobs.get(id) ?? []) : active, next: null })
  }

  #create(type: string): Job {
    const job = jobOf(Math.max(0, ...this.jobs.keys()) + 1, 'pending', { type })
    this.put(job)
    return job
  }

  #cancel(job: Job): Response {
    if (job.state === 'finished' || job.state === 'failed') {
      return errorResponse(400, 'ERROR_JOB_NOT_CANCELLABLE')
    }
    const cancelled = { ...job, state: 'cancelled' }
    this.jobs.set(job.id, cancelled)
    return json(cancelled)
  }

  #open(request: FakeRequest, signal: AbortSignal | null): Answer {
    if (!this.streaming) return errorResponse(404, 'ERROR_NOT_FOUND')
    const encoder = new TextEncoder()
    let controller: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({ start: (given) => (controller = given) })
    const send = (text: string): void => controller.enqueue(encoder.encode(text))
    signal?.addEventListener('abort', () => controller.error(signal.reason))
    this.streams.push({
      lastEventId: request.headers.get('Last-Event-ID'),
      send,
      job: (job, id = 'a-1') => send(`event: job\nid: ${id}\ndata: ${JSON.stringify(job)}\n\n`),
      end: () => controller.close(),
    })
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
  }
}

export function json(value: unknown, status = 200): Response {
  const headers = { 'Content-Type': 'application/json' }
  return new Response(JSON.stringify(value), { status, headers })
}

export function errorResponse(status: number, error: string, detail = 'no'): Response {
  return json({ error, detail }, status)
}

/** The network is down. */
export const offline = (): Error => new TypeError('Failed to fetch')
export const unauthorized = (): Response => errorResponse(401, 'ERROR_NOT_AUTHENTICATED')

/** Advance the fake timers, and run everything that is due. */
export async function pass(milliseconds = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds)
}
