import { plainCell, type Cell, type CreateCell } from './cell'
import { EventParser, type ServerSentEvent } from './parser'

/**
 * `connecting` lasts until the first byte arrives, because some proxies hold a stream back. `waiting` is the time
 * before a reconnection.
 */
export type FeedStatus = 'closed' | 'connecting' | 'open' | 'waiting'

export interface FeedListener {
  readonly onEvent?: (event: ServerSentEvent) => void
  readonly onStatus?: (status: FeedStatus) => void
}

/** A source of server-sent events for any number of listeners. It is connected while there are listeners. */
export interface EventFeed {
  readonly status: Readonly<Cell<FeedStatus>>
  subscribe: (listener: FeedListener) => () => void
  /** Close the connection and open a new one now, for example after a login. */
  reconnect: () => void
}

export interface FeedOptions {
  /** Open the stream. Rejects when that fails; null if there is none, so that no attempt follows until `reconnect`. */
  readonly open: (
    lastEventId: string | null,
    signal: AbortSignal,
  ) => Promise<ReadableStream<Uint8Array> | null>
  /**
   * The delay before the first reconnection, in milliseconds. It doubles with each failure. The server can change it.
   */
  readonly retry?: number
  /** The longest delay before a reconnection, in milliseconds. */
  readonly retryCeiling?: number
  /** Milliseconds without data after which the connection counts as lost: the server sends heartbeats. */
  readonly silence?: number
  /** How the status is held: Vue's `shallowRef`, for example. A plain object by default. */
  readonly createCell?: CreateCell
}

const DEFAULTS = { retry: 1000, retryCeiling: 30_000, silence: 45_000 }

/** Reads server-sent events by `fetch`, because an `EventSource` cannot send an `Authorization` header. */
export class StreamFeed implements EventFeed {
  readonly #settings: FeedOptions & typeof DEFAULTS
  readonly #listeners = new Set<FeedListener>()
  readonly #status: Cell<FeedStatus>
  #connection: AbortController | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #retry: number
  #lastEventId: string | null = null

  constructor(options: FeedOptions) {
    this.#settings = { ...DEFAULTS, ...options }
    this.#retry = this.#settings.retry
    this.#status = (options.createCell ?? plainCell)<FeedStatus>('closed')
  }

  get status(): Readonly<Cell<FeedStatus>> {
    return this.#status
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#connect()
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close()
    }
  }

  reconnect(): void {
    this.#lastEventId = null // missed events belong to the user who was logged in before
    if (this.#listeners.size === 0) return
    this.#close()
    this.#connect()
  }

  /** Let the next connection resume after this event. Null skips all earlier events. */
  resumeFrom(lastEventId: string | null): void {
    this.#lastEventId = lastEventId
  }

  #connect(): void {
    const connection = new AbortController()
    this.#connection = connection
    this.#setStatus('connecting')
    const retry = (): void => this.#retryLater(connection)
    this.#read(connection).then((again) => (again ? retry() : this.#giveUp(connection)), retry)
  }

  /** Read one stream to its end. Returns whether to connect again: not if the server says that there is none. */
  async #read(connection: AbortController): Promise<boolean> {
    const stream = await this.#settings.open(this.#lastEventId, connection.signal)
    if (stream === null) return false
    const reader = stream.getReader()
    connection.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    const decoder = new TextDecoder()
    const parser = new EventParser()
    while (this.#connection === connection) {
      const { done, value } = await withTimeout(reader.read(), this.#settings.silence)
      if (done || this.#connection !== connection) return true
      this.#failures = 0
      this.#setStatus('open')
      const events = parser.push(decoder.decode(value, { stream: true }))
      this.#lastEventId = parser.lastEventId ?? this.#lastEventId
      this.#retry = parser.retry ?? this.#retry
      for (const event of events) {
        for (const listener of [...this.#listeners]) listener.onEvent?.(event)
      }
    }
    return true
  }

  #giveUp(connection: AbortController): void {
    if (this.#connection === connection) this.#setStatus('waiting')
  }

  #retryLater(connection: AbortController): void {
    connection.abort()
    if (this.#connection !== connection) return
    this.#setStatus('waiting')
    const delay = Math.min(this.#retry * 2 ** this.#failures, this.#settings.retryCeiling)
    this.#timer = setTimeout(() => this.#connect(), delay)
    this.#failures += 1
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#connection?.abort()
    this.#connection = null
    this.#failures = 0
    this.#setStatus('closed')
  }

  #setStatus(status: FeedStatus): void {
    if (this.#status.value === status) return
    this.#status.value = status
    for (const listener of [...this.#listeners]) listener.onStatus?.(status)
  }
}

/** Reject if `read` takes longer than `limit` milliseconds. */
async function withTimeout<Value>(read: Promise<Value>, limit: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the event stream sent no data')), limit)
  })
  try {
    return await Promise.race([read, timeout])
  } finally {
    clearTimeout(timer)
  }
}
