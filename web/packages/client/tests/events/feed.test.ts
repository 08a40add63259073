import { beforeEach, describe, expect, it, vi } from 'vitest'

import { StreamFeed } from '../../src/events/feed'
import { pass } from '../fakes'

/*
 * What the public tests of the standard for EventSource say of connections: which id a new one sends, and when there is
 * none (web-platform-tests, eventsource/request-status-error and format-field-id-3).
 */

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}

/** A feed whose connections receive these streams, one after the other, and the id that each one has sent. */
function feedOf(...streams: (string | null)[]): { feed: StreamFeed; sent: (string | null)[] } {
  const sent: (string | null)[] = []
  const feed = new StreamFeed({
    open: (lastEventId) => {
      const stream = streams[sent.length] ?? null
      sent.push(lastEventId)
      return Promise.resolve(stream === null ? null : streamOf(stream))
    },
  })
  return { feed, sent }
}

describe('a feed of events', () => {
  beforeEach(() => void vi.useFakeTimers())

  it.each([
    ['that of the last event', 'id: 1\ndata: a\n\nid: 2\ndata: b\n\n', '2'],
    ['one without data', 'id: 1\ndata: a\n\nid: 3\n\n', '3'],
    ['not that of an unfinished event', 'id: 1\ndata: a\n\nid: 4\ndata: b\n', '1'],
    ['not one with a null character', 'id: 1\ndata: a\n\nid: 5\0\ndata: b\n\n', '1'],
  ])('reconnects with an id: %s', async (_, stream, id) => {
    const { feed, sent } = feedOf(stream)
    feed.subscribe({})
    await pass(5000)
    expect(sent).toEqual([null, id])
  })

  it('waits before it reconnects as long as the server says', async () => {
    const { feed, sent } = feedOf('retry: 10000\ndata: a\n\n')
    feed.subscribe({})
    await pass(9000)
    expect(sent).toHaveLength(1)
    await pass(1000)
    expect(sent).toHaveLength(2)
  })

  it('ends when the server answers that there is no stream, until somebody reconnects it', async () => {
    const { feed, sent } = feedOf(null, null)
    feed.subscribe({})
    await pass(3_600_000)
    expect([feed.status.value, sent.length]).toEqual(['waiting', 1])
    feed.reconnect()
    await pass(0)
    expect(sent).toHaveLength(2)
  })
})
