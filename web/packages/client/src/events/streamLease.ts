import type { FeedStatus } from './feed'
import type { ServerSentEvent } from './parser'

/** The part of `BroadcastChannel` that is used here. Unlike web locks, it also works on pages served by plain HTTP. */
export interface Channel {
  onmessage: ((message: MessageEvent<unknown>) => void) | null
  postMessage: (message: unknown) => void
  close: () => void
}

export interface StreamLeaseHandlers {
  /** This tab holds the stream from now on. */
  readonly onAcquired: () => void
  /** This tab no longer holds the stream. */
  readonly onReleased: () => void
  /** The tab that holds the stream has received an event. */
  readonly onEvent: (event: ServerSentEvent) => void
  /** The status of the stream in the tab that holds it; `waiting` while no tab does. */
  readonly onStatus: (status: FeedStatus) => void
  /** The user has logged in or out in another tab. */
  readonly onLoginChange: () => void
}

/** The messages between tabs. */
type Message = { readonly from: string } & (
  | { readonly kind: 'claim' }
  | { readonly kind: 'held'; readonly status: FeedStatus }
  | { readonly kind: 'released' }
  | { readonly kind: 'renew' }
  | { readonly kind: 'event'; readonly event: ServerSentEvent }
)

/** Milliseconds in which the holder, or a claimant of higher priority, can object to a claim. */
const OBJECTION_WINDOW = 100
/** Milliseconds between two heartbeats of the holder. */
const HEARTBEAT_INTERVAL = 2000
/** Milliseconds without a heartbeat after which the lease expires: the browser has ended or suspended the holder. */
const LEASE_DURATION = 3 * HEARTBEAT_INTERVAL

/**
 * One tab's view of the lease that decides which tab holds the event stream for all tabs of a user.
 *
 * A tab claims the lease and holds it unless another tab objects within a short time. Of two claimants the one with the
 * lower name wins. `navigator.locks` is not used, because it does not exist on pages served by plain HTTP.
 */
export class StreamLease {
  readonly #channel: Channel
  readonly #handlers: StreamLeaseHandlers
  readonly #name = randomName()
  #role: 'listener' | 'claimant' | 'holder' = 'listener'
  #eligible = false
  #status: FeedStatus = 'connecting'
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(channel: Channel, handlers: StreamLeaseHandlers) {
    this.#channel = channel
    this.#handlers = handlers
    channel.onmessage = ({ data }) => this.#onMessage(data as Message)
  }

  /** Set whether this tab may hold the stream. Only visible tabs should: browsers slow down hidden ones. */
  setEligible(eligible: boolean): void {
    this.#eligible = eligible
    if (eligible && this.#role === 'listener') this.#claim()
    if (!eligible && this.#role !== 'listener') this.#release()
  }

  /** As the holder, send an event to the other tabs. */
  broadcast(event: ServerSentEvent): void {
    this.#post({ kind: 'event', from: this.#name, event })
  }

  /** As the holder, report the status of the stream to the other tabs. */
  reportStatus(status: FeedStatus): void {
    this.#status = status
    this.#sendHeartbeat()
  }

  /** Notify the other tabs that the user has logged in or out. */
  announceLoginChange(): void {
    this.#post({ kind: 'renew', from: this.#name })
  }

  close(): void {
    this.#eligible = false
    if (this.#role !== 'listener') this.#release()
    clearTimeout(this.#timer)
    this.#channel.onmessage = null
    this.#channel.close()
  }

  #onMessage(message: Message): void {
    if (message.kind === 'claim') this.#onClaim(message.from)
    else if (message.kind === 'held') this.#onHeartbeat(message.from, message.status)
    else if (message.kind === 'released') this.#onLeaseFree()
    else if (message.kind === 'renew') this.#handlers.onLoginChange()
    else if (this.#role !== 'holder') this.#handlers.onEvent(message.event)
  }

  #onClaim(rival: string): void {
    if (this.#role === 'holder') this.#sendHeartbeat()
    else if (this.#role === 'claimant') {
      if (rival < this.#name) this.#listen('connecting')
      else this.#post({ kind: 'claim', from: this.#name })
    }
  }

  #onHeartbeat(holder: string, status: FeedStatus): void {
    if (this.#role !== 'holder') this.#listen(status)
    else if (holder > this.#name)
      this.#sendHeartbeat() // there are two holders after a suspension or a tie; the other one gives way
    else {
      this.#handlers.onReleased()
      this.#listen(status)
    }
  }

  #onLeaseFree(): void {
    if (this.#role !== 'listener') return
    if (this.#eligible) this.#claim()
    else this.#handlers.onStatus('waiting')
  }

  #claim(): void {
    this.#role = 'claimant'
    this.#post({ kind: 'claim', from: this.#name })
    this.#setTimer(OBJECTION_WINDOW, () => this.#acquire())
  }

  #acquire(): void {
    this.#role = 'holder'
    this.#status = 'connecting'
    this.#sendHeartbeat()
    this.#handlers.onAcquired()
  }

  #sendHeartbeat(): void {
    if (this.#role !== 'holder') return
    this.#post({ kind: 'held', from: this.#name, status: this.#status })
    this.#setTimer(HEARTBEAT_INTERVAL, () => this.#sendHeartbeat())
  }

  #listen(status: FeedStatus): void {
    this.#role = 'listener'
    this.#setTimer(LEASE_DURATION, () => this.#onLeaseFree())
    this.#handlers.onStatus(status)
  }

  #release(): void {
    const wasHolder = this.#role === 'holder'
    this.#listen('waiting')
    if (!wasHolder) return
    this.#post({ kind: 'released', from: this.#name })
    this.#handlers.onReleased()
  }

  #post(message: Message): void {
    this.#channel.postMessage(message)
  }

  #setTimer(delay: number, callback: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(callback, delay)
  }
}

/** Return a random name. `randomUUID` does not exist on pages served by plain HTTP. */
function randomName(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-')
}
