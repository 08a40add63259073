import type { FeedStatus } from './feed'
import type { ServerSentEvent } from './parser'

/** What share uses of a `BroadcastChannel`, which is in every browser, also where a page came by plain HTTP. */
export interface Channel {
  onmessage: ((message: MessageEvent<unknown>) => void) | null
  postMessage: (message: unknown) => void
  close: () => void
}

export interface ShareHandlers {
  /** This tab holds the stream from now on. */
  readonly onHold: () => void
  /** It does no longer. */
  readonly onRelease: () => void
  /** The tab that holds the stream has had an event. */
  readonly onEvent: (event: ServerSentEvent) => void
  /** How the stream is in the tab that holds it; `waiting` while none does. */
  readonly onStatus: (status: FeedStatus) => void
  /** Another tab has logged in or out. */
  readonly onRenew: () => void
}

/** What tabs tell each other. */
type Message = { readonly from: string } & (
  | { readonly kind: 'claim' }
  | { readonly kind: 'held'; readonly status: FeedStatus }
  | { readonly kind: 'released' }
  | { readonly kind: 'renew' }
  | { readonly kind: 'event'; readonly event: ServerSentEvent }
)

/** Milliseconds in which the holder, or a tab that goes first, can object to a claim. */
const OBJECTION = 100
const BEAT = 2000
/** A holder that has been silent for so long is gone: its browser has ended it, or put it to sleep. */
const SILENCE = 3 * BEAT

/**
 * One tab's part in choosing which tab holds the stream of events for all.
 *
 * Whoever wants it claims it and holds it unless somebody objects within a moment; of two, the lower name goes first.
 * Not `navigator.locks`, which a page that came by plain HTTP does not have.
 */
export class Share {
  readonly #channel: Channel
  readonly #handlers: ShareHandlers
  readonly #name = randomName()
  #role: 'listener' | 'claimant' | 'holder' = 'listener'
  #willing = false
  #status: FeedStatus = 'connecting'
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(channel: Channel, handlers: ShareHandlers) {
    this.#channel = channel
    this.#handlers = handlers
    channel.onmessage = ({ data }) => this.#hear(data as Message)
  }

  /** Say whether this tab would hold the stream, which only one that somebody sees should. */
  volunteer(willing: boolean): void {
    this.#willing = willing
    if (willing && this.#role === 'listener') this.#claim()
    if (!willing && this.#role !== 'listener') this.#release()
  }

  /** As the holder: hand an event to the other tabs. */
  tell(event: ServerSentEvent): void {
    this.#post({ kind: 'event', from: this.#name, event })
  }

  /** As the holder: say how the stream is. */
  report(status: FeedStatus): void {
    this.#status = status
    this.#beat()
  }

  /** Let the other tabs find out anew who their user is. */
  renew(): void {
    this.#post({ kind: 'renew', from: this.#name })
  }

  leave(): void {
    this.#willing = false
    if (this.#role !== 'listener') this.#release()
    clearTimeout(this.#timer)
    this.#channel.onmessage = null
    this.#channel.close()
  }

  #hear(message: Message): void {
    if (message.kind === 'claim') this.#onClaim(message.from)
    else if (message.kind === 'held') this.#onHeld(message.from, message.status)
    else if (message.kind === 'released') this.#onReleased()
    else if (message.kind === 'renew') this.#handlers.onRenew()
    else if (this.#role !== 'holder') this.#handlers.onEvent(message.event)
  }

  #onClaim(rival: string): void {
    if (this.#role === 'holder') this.#beat()
    else if (this.#role === 'claimant') {
      if (rival < this.#name) this.#listen('connecting')
      else this.#post({ kind: 'claim', from: this.#name })
    }
  }

  #onHeld(holder: string, status: FeedStatus): void {
    if (this.#role !== 'holder') this.#listen(status)
    else if (holder > this.#name)
      this.#beat() // the other one, which slept or claimed at the same moment, gives way
    else {
      this.#handlers.onRelease()
      this.#listen(status)
    }
  }

  #onReleased(): void {
    if (this.#role !== 'listener') return
    if (this.#willing) this.#claim()
    else this.#handlers.onStatus('waiting')
  }

  #claim(): void {
    this.#role = 'claimant'
    this.#post({ kind: 'claim', from: this.#name })
    this.#after(OBJECTION, () => this.#hold())
  }

  #hold(): void {
    this.#role = 'holder'
    this.#status = 'connecting'
    this.#beat()
    this.#handlers.onHold()
  }

  #beat(): void {
    if (this.#role !== 'holder') return
    this.#post({ kind: 'held', from: this.#name, status: this.#status })
    this.#after(BEAT, () => this.#beat())
  }

  #listen(status: FeedStatus): void {
    this.#role = 'listener'
    this.#after(SILENCE, () => this.#onReleased())
    this.#handlers.onStatus(status)
  }

  #release(): void {
    const held = this.#role === 'holder'
    this.#listen('waiting')
    if (!held) return
    this.#post({ kind: 'released', from: this.#name })
    this.#handlers.onRelease()
  }

  #post(message: Message): void {
    this.#channel.postMessage(message)
  }

  #after(delay: number, call: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(call, delay)
  }
}

/** Not `randomUUID`, which a page that came by plain HTTP does not have. */
function randomName(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}
