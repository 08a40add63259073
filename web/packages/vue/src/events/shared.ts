import { shallowReadonly, shallowRef } from 'vue'

import { PAGE, type PageVisibility } from '../page/visibility'
import {
  StreamFeed,
  type EventFeed,
  type FeedListener,
  type FeedOptions,
  type FeedStatus,
} from './feed'
import type { ServerSentEvent } from './parser'
import { Share, type Channel } from './share'

export interface SharedFeedOptions extends FeedOptions {
  /**
   * Whose events these are, so that only tabs of the same user share a stream; null: nobody can tell, so that this tab
   * has one of its own. Rejects when there is no answer, or when nobody is logged in.
   */
  readonly audience: () => Promise<string | null>
  /** Open a channel to the other tabs; null where there is none. */
  readonly channel: ((name: string) => Channel) | null
  readonly page?: PageVisibility
}

/** Changes with what tabs tell each other: after a deployment, tabs of the old and the new page are open together. */
const VERSION = 'horae-events-1'
/** What a stream says first: whoever has just joined has missed what came before. */
const HELLO: ServerSentEvent = { type: 'hello', data: '{"resumed": false}', id: null }

const FIRST_RETRY = 1000
const RETRY_CEILING = 30_000

/**
 * One stream of events for all tabs of a user: over HTTP/1.1 a browser has six connections to a server, and a stream in
 * each tab uses them up. A tab that somebody sees holds it; where nobody sees any, there is none.
 */
export class SharedFeed implements EventFeed {
  readonly #options: SharedFeedOptions
  readonly #page: PageVisibility
  readonly #own: StreamFeed
  readonly #listeners = new Set<FeedListener>()
  readonly #status = shallowRef<FeedStatus>('closed')
  readonly status = shallowReadonly(this.#status)
  #share: Share | null = null
  /** Whose events this tab gets at present. */
  #audience: string | null = null
  /** Counts the joins: an answer that is for an earlier one is too late. */
  #join = 0
  /** Whether that is known. */
  #entered = false
  /** It was asked just now, so that the stream may be opened without asking again. */
  #fresh = false
  /** Whether somebody has said that this tab must read what it shows. */
  #greeted = false
  #failures = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #lastEventId: string | null = null
  #stopOwn: (() => void) | null = null
  #stopWatching: (() => void) | null = null

  constructor(options: SharedFeedOptions) {
    this.#options = options
    this.#page = options.page ?? PAGE
    this.#own = new StreamFeed({ ...options, open: (last, signal) => this.#open(last, signal) })
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) {
      this.#stopWatching = this.#page.onChange(() => this.#adapt())
      void this.#enter()
    }
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
      this.#stopWatching?.()
      this.#leave()
      this.#change('closed')
    }
  }

  reconnect(): void {
    this.#share?.renew()
    this.#begin()
  }

  /** Find out anew who the user is, and share with the tabs of that user. */
  #begin(): void {
    this.#lastEventId = null // what was missed belongs to whoever was logged in before
    this.#leave()
    if (this.#listeners.size > 0) void this.#enter()
  }

  async #enter(): Promise<void> {
    const join = ++this.#join
    this.#change('connecting')
    try {
      const audience = this.#options.channel && (await this.#options.audience())
      if (join !== this.#join) return
      this.#failures = 0
      this.#entered = this.#fresh = true
      this.#audience = audience
      if (audience !== null) this.#share = this.#shareOf(audience)
      this.#adapt()
    } catch {
      if (join === this.#join) this.#retryLater()
    }
  }

  #shareOf(audience: string): Share | null {
    const open = this.#options.channel
    if (!open) return null
    return new Share(open(`${VERSION} ${audience}`), {
      onHold: () => this.#hold(),
      onRelease: () => this.#release(),
      onEvent: (event) => this.#deliver(event),
      onStatus: (status) => this.#follow(status),
      onRenew: () => this.#begin(),
    })
  }

  #retryLater(): void {
    this.#change('waiting')
    const delay = Math.min(FIRST_RETRY * 2 ** this.#failures, RETRY_CEILING)
    this.#failures += 1
    this.#retry = setTimeout(() => void this.#enter(), delay)
  }

  /** Somebody sees the page now, or nobody does. */
  #adapt(): void {
    const seen = !this.#page.isHidden()
    if (!this.#entered) return
    if (this.#share) this.#share.volunteer(seen)
    else if (seen) this.#hold()
    else {
      this.#release()
      this.#change('waiting')
    }
  }

  #hold(): void {
    this.#own.resumeFrom(this.#lastEventId)
    this.#stopOwn ??= this.#own.subscribe({
      onEvent: (event) => {
        this.#deliver(event)
        this.#share?.tell(event)
      },
      onStatus: (status) => {
        this.#change(status)
        this.#share?.report(status)
      },
    })
  }

  #release(): void {
    const stop = this.#stopOwn
    this.#stopOwn = null
    stop?.()
  }

  /** Another tab holds the stream, or none does. */
  #follow(status: FeedStatus): void {
    this.#change(status)
    if (status === 'open' && !this.#greeted) this.#deliver(HELLO)
  }

  /** The cookie may be another user's by the time that a stream is opened anew. */
  async #open(last: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const known = this.#fresh || this.#audience === null
    this.#fresh = false
    if (!known && (await this.#options.audience()) !== this.#audience) {
      this.#begin()
      throw new Error('another user has logged in')
    }
    return this.#options.open(last, signal)
  }

  #leave(): void {
    this.#join += 1
    clearTimeout(this.#retry)
    this.#entered = this.#greeted = false
    this.#share?.leave()
    this.#share = null
    this.#release()
  }

  #deliver(event: ServerSentEvent): void {
    this.#greeted ||= event.type === HELLO.type
    this.#lastEventId = event.id ?? this.#lastEventId
    for (const listener of [...this.#listeners]) listener.onEvent?.(event)
  }

  #change(status: FeedStatus): void {
    if (this.#status.value === status) return
    this.#status.value = status
    for (const listener of [...this.#listeners]) listener.onStatus?.(status)
  }
}
