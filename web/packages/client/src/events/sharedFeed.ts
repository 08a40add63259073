import { PAGE, type PageVisibility } from '../page/visibility'
import { plainCell, type Cell } from './cell'
import {
  StreamFeed,
  type EventFeed,
  type FeedListener,
  type FeedOptions,
  type FeedStatus,
} from './feed'
import type { ServerSentEvent } from './parser'
import { StreamLease, type Channel } from './streamLease'

export interface SharedFeedOptions extends FeedOptions {
  /**
   * Return a key for the server and the user whose events these are: only tabs with the same key share a stream. Null if
   * the server cannot tell, so that this tab opens a stream of its own. Rejects when the server does not answer or the
   * user is not logged in.
   */
  readonly audience: () => Promise<string | null>
  /** Open a channel to the other tabs; null if the browser has none. */
  readonly channel: ((name: string) => Channel) | null
  readonly page?: PageVisibility
}

/** The version of the messages between tabs: after a deployment, tabs of the old and the new page are open together. */
const VERSION = 'horae-events-1'
/** The first event of a stream. `resumed: false` means that earlier events were missed. */
const HELLO: ServerSentEvent = { type: 'hello', data: '{"resumed": false}', id: null }

/** The first delay before the server is asked again for the user, in milliseconds. It doubles with each failure. */
const FIRST_RETRY = 1000
/** The longest of these delays, in milliseconds. */
const RETRY_CEILING = 30_000

/**
 * One event stream for all tabs of a user: with HTTP/1.1 a browser opens at most six connections to a server, and a stream
 * in each tab would use them up. A visible tab holds the stream. There is none while all tabs are hidden.
 */
export class SharedFeed implements EventFeed {
  readonly #options: SharedFeedOptions
  readonly #page: PageVisibility
  readonly #ownStream: StreamFeed
  readonly #listeners = new Set<FeedListener>()
  readonly #status: Cell<FeedStatus>
  #lease: StreamLease | null = null
  /** Whose events this tab receives. Only valid while `#joined`. */
  #audience: string | null = null
  #joined = false
  /** The number of attempts to join. A response to an earlier attempt is ignored. */
  #attempt = 0
  /** The audience was requested just now, so the stream may be opened without asking again. */
  #audienceIsFresh = false
  /** Whether the listeners have received a `hello` and so know that earlier events were missed. */
  #greeted = false
  #failures = 0
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #lastEventId: string | null = null
  #unsubscribeOwnStream: (() => void) | null = null
  #stopWatchingPage: (() => void) | null = null

  constructor(options: SharedFeedOptions) {
    this.#options = options
    this.#page = options.page ?? PAGE
    this.#status = (options.createCell ?? plainCell)<FeedStatus>('closed')
    this.#ownStream = new StreamFeed({
      ...options,
      open: (lastEventId, signal) => this.#open(lastEventId, signal),
    })
  }

  get status(): Readonly<Cell<FeedStatus>> {
    return this.#status
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) {
      this.#stopWatchingPage = this.#page.onChange(() => this.#onVisibilityChange())
      void this.#join()
    }
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
      this.#stopWatchingPage?.()
      this.#leave()
      this.#setStatus('closed')
    }
  }

  reconnect(): void {
    this.#lease?.announceLoginChange()
    this.#restart()
  }

  /** Ask the server again who the user is, and share a stream with the tabs of that user. */
  #restart(): void {
    this.#lastEventId = null // missed events belong to the user who was logged in before
    this.#leave()
    if (this.#listeners.size > 0) void this.#join()
  }

  async #join(): Promise<void> {
    const attempt = ++this.#attempt
    this.#setStatus('connecting')
    try {
      const audience = this.#options.channel && (await this.#options.audience())
      if (attempt !== this.#attempt) return
      this.#failures = 0
      this.#joined = this.#audienceIsFresh = true
      this.#audience = audience
      if (audience !== null) this.#lease = this.#createLease(audience)
      this.#onVisibilityChange()
    } catch {
      if (attempt === this.#attempt) this.#retryLater()
    }
  }

  #createLease(audience: string): StreamLease | null {
    const openChannel = this.#options.channel
    if (!openChannel) return null
    return new StreamLease(openChannel(`${VERSION} ${audience}`), {
      onAcquired: () => this.#openOwnStream(),
      onReleased: () => this.#closeOwnStream(),
      onEvent: (event) => this.#deliver(event),
      onStatus: (status) => this.#onHolderStatus(status),
      onLoginChange: () => this.#restart(),
    })
  }

  #retryLater(): void {
    this.#setStatus('waiting')
    const delay = Math.min(FIRST_RETRY * 2 ** this.#failures, RETRY_CEILING)
    this.#failures += 1
    this.#retryTimer = setTimeout(() => void this.#join(), delay)
  }

  #onVisibilityChange(): void {
    const visible = !this.#page.isHidden()
    if (!this.#joined) return
    if (this.#lease) this.#lease.setEligible(visible)
    else if (visible) this.#openOwnStream()
    else {
      this.#closeOwnStream()
      this.#setStatus('waiting')
    }
  }

  #openOwnStream(): void {
    this.#ownStream.resumeFrom(this.#lastEventId)
    this.#unsubscribeOwnStream ??= this.#ownStream.subscribe({
      onEvent: (event) => {
        this.#deliver(event)
        this.#lease?.broadcast(event)
      },
      onStatus: (status) => {
        this.#setStatus(status)
        this.#lease?.reportStatus(status)
      },
    })
  }

  #closeOwnStream(): void {
    const unsubscribe = this.#unsubscribeOwnStream
    this.#unsubscribeOwnStream = null
    unsubscribe?.()
  }

  /** Follow the stream of the tab that holds it. */
  #onHolderStatus(status: FeedStatus): void {
    this.#setStatus(status)
    if (status === 'open' && !this.#greeted) this.#deliver(HELLO)
  }

  /** Open the stream, unless the session cookie has become another user's since this tab joined. */
  async #open(
    lastEventId: string | null,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array> | null> {
    const isKnown = this.#audienceIsFresh || this.#audience === null
    this.#audienceIsFresh = false
    if (!isKnown && (await this.#options.audience()) !== this.#audience) {
      this.#restart()
      throw new Error('another user has logged in')
    }
    return this.#options.open(lastEventId, signal)
  }

  #leave(): void {
    this.#attempt += 1
    clearTimeout(this.#retryTimer)
    this.#joined = this.#greeted = false
    this.#lease?.close()
    this.#lease = null
    this.#closeOwnStream()
  }

  #deliver(event: ServerSentEvent): void {
    this.#greeted ||= event.type === HELLO.type
    this.#lastEventId = event.id ?? this.#lastEventId
    for (const listener of [...this.#listeners]) listener.onEvent?.(event)
  }

  #setStatus(status: FeedStatus): void {
    if (this.#status.value === status) return
    this.#status.value = status
    for (const listener of [...this.#listeners]) listener.onStatus?.(status)
  }
}
