import { shallowReadonly, shallowRef, type Ref } from 'vue'

import { EventParser, type ServerSentEvent } from './parser'

/** `connecting` until the first byte has come: a proxy that holds back the stream is no live feed. */
export type FeedStatus = 'closed' | 'connecting' | 'open' | 'waiting'

export interface FeedListener {
  readonly onEvent?: (event: ServerSentEvent) => void
  readonly onStatus?: (status: FeedStatus) => void
}

/** News from the server, shared by all who listen. */
export interface EventFeed {
  readonly status: Readonly<Ref<FeedStatus>>
  subscribe: (listener: FeedListener) => () => void
  /** Connect anew at once, as after a login. */
  reconnect: () => void
}

export interface FeedOptions {
  /** Open the stream; rejects when it cannot be had. */
  readonly open: (
    lastEventId: string | null,
    signal: AbortSignal,
  ) => Promise<ReadableStream<Uint8Array>>
  /** The first wait before a reconnection, in milliseconds; doubled up to `retryCeiling`. */
  readonly retry?: number
  readonly retryCeiling?: number
  /** A connection silent for so many milliseconds is dead: the server sends heartbeats. */
  readonly silence?: number
}

const DEFAULTS = { retry: 1000, retryCeiling: 30_000, silence: 45_000 }

/** Server-sent events by `fetch`, because an EventSource can send no token. */
export class StreamFeed implements EventFeed {
  readonly #settings: FeedOptions & typeof DEFAULTS
  readonly #listeners = new Set<FeedListener>()
  readonly #status = shallowRef<FeedStatus>('closed')
  readonly status = shallowReadonly(this.#status)
  #connection: AbortController | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #retry: number
  #lastEventId: string | null = null

  constructor(options: FeedOptions) {
    this.#settings = { ...DEFAULTS, ...options }
    this.#retry = this.#settings.retry
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#connect()
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close()
    }
  }

  reconnect(): void {
    this.#lastEventId = null // what was missed belongs to whoever was logged in before
    if (this.#listeners.size === 0) return
    this.#close()
    this.#connect()
  }

  /** Let the next connection go on after this event; null: from now on. */
  resumeFrom(lastEventId: string | null): void {
    this.#lastEventId = lastEventId
  }

  #connect(): void {
    const own = new AbortController()
    this.#connection = own
    this.#change('connecting')
    const retry = (): void => this.#wait(own)
    this.#read(own).then(retry, retry)
  }

  async #read(own: AbortController): Promise<void> {
    const stream = await this.#settings.open(this.#lastEventId, own.signal)
    const reader = stream.getReader()
    own.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined))
    const decoder = new TextDecoder()
    const parser = new EventParser()
    while (this.#connection === own) {
      const { done, value } = await withinSilence(reader.read(), this.#settings.silence)
      if (done || this.#connection !== own) return
      this.#failures = 0
      this.#change('open')
      this.#deliver(parser.push(decoder.decode(value, { stream: true })))
      this.#retry = parser.retry ?? this.#retry
    }
  }

  #deliver(events: readonly ServerSentEvent[]): void {
    for (const event of events) {
      this.#lastEventId = event.id ?? this.#lastEventId
      for (const listener of [...this.#listeners]) listener.onEvent?.(event)
    }
  }

  #wait(own: AbortController): void {
    own.abort()
    if (this.#connection !== own) return
    this.#change('waiting')
    const delay = Math.min(this.#retry * 2 ** this.#failures, this.#settings.retryCeiling)
    this.#timer = setTimeout(() => this.#connect(), delay)
    this.#failures += 1
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#connection?.abort()
    this.#connection = null
    this.#failures = 0
    this.#change('closed')
  }

  #change(status: FeedStatus): void {
    if (this.#status.value === status) return
    this.#status.value = status
    for (const listener of [...this.#listeners]) listener.onStatus?.(status)
  }
}

/** Reject when nothing has come for `silence` milliseconds. */
async function withinSilence<Value>(read: Promise<Value>, silence: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silent = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the event stream fell silent')), silence)
  })
  try {
    return await Promise.race([read, silent])
  } finally {
    clearTimeout(timer)
  }
}
