import { vi } from 'vitest'

import type { Channel } from '../../src/events/streamLease'
import { SharedFeed } from '../../src/events/sharedFeed'

/**
 * The broadcast channels of one browser. A message reaches all other channels of the same name, in order and
 * asynchronously.
 */
export class FakeBrowser {
  readonly #channels = new Map<string, Set<Channel>>()

  readonly open = (name: string): Channel => {
    const others = this.#channels.get(name) ?? new Set<Channel>()
    this.#channels.set(name, others)
    const channel: Channel = {
      onmessage: null,
      postMessage: (message) => {
        for (const other of [...others].filter((each) => each !== channel)) {
          queueMicrotask(() => {
            if (others.has(other)) other.onmessage?.(new MessageEvent('message', { data: message }))
          })
        }
      },
      close: () => void others.delete(channel),
    }
    others.add(channel)
    return channel
  }
}

/** An event stream that a tab has opened. */
export interface OpenStream {
  readonly tab: Tab
  readonly lastEventId: string | null
  readonly send: (text: string) => void
  readonly end: () => void
}

/** A server that opens an event stream for each request and counts them. */
export class FakeEvents {
  readonly streams = new Set<OpenStream>()
  opened = 0

  open(tab: Tab, lastEventId: string | null, signal: AbortSignal): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    let controller: ReadableStreamDefaultController<Uint8Array>
    const body = new ReadableStream<Uint8Array>({ start: (given) => (controller = given) })
    const stream = {
      tab,
      lastEventId,
      send: (text: string) => controller.enqueue(encoder.encode(text)),
      end: () => {
        this.streams.delete(stream)
        controller.close()
      },
    }
    this.streams.add(stream)
    this.opened += 1
    signal.addEventListener('abort', () => this.streams.delete(stream))
    stream.send(`event: hello\nid: a-0\ndata: {"resumed": ${lastEventId !== null}}\n\n`)
    return body
  }

  get only(): OpenStream {
    const [stream, ...others] = this.streams
    if (stream === undefined || others.length > 0) throw new Error(`${this.streams.size} streams`)
    return stream
  }
}

/** A tab with an event feed. All tabs of a test share one document, so each has its own visibility. */
export class Tab {
  hidden = false
  readonly received: string[] = []
  readonly feed: SharedFeed
  readonly #listeners = new Set<() => void>()
  #stop: () => void
  #channel: Channel | null = null

  constructor(browser: FakeBrowser | null, events: FakeEvents, user: () => string | null | Error) {
    this.feed = new SharedFeed({
      open: (lastEventId, signal) => Promise.resolve(events.open(this, lastEventId, signal)),
      audience: () => {
        const found = user()
        return found instanceof Error ? Promise.reject(found) : Promise.resolve(found)
      },
      channel: browser && ((name) => (this.#channel = browser.open(name))),
      page: {
        isHidden: () => this.hidden,
        onChange: (listener) => {
          this.#listeners.add(listener)
          return () => void this.#listeners.delete(listener)
        },
      },
    })
    this.#stop = this.feed.subscribe({
      onEvent: ({ type, data }) => this.received.push(`${type} ${data}`),
    })
  }

  show(shown: boolean): void {
    this.hidden = !shown
    for (const listener of this.#listeners) listener()
  }

  /** Close the tab as a browser does: hide it first. */
  close(): void {
    this.show(false)
    this.#stop()
  }

  /** End without a message to the other tabs. */
  crash(): void {
    if (this.#channel) this.#channel.postMessage = () => undefined
    this.leave()
  }

  leave(): void {
    this.#stop()
  }
}

export async function pass(milliseconds = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds)
}
