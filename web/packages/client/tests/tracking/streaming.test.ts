import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { JobTracker } from '../../src'
import { FakeServer, jobOf, offline, pass } from '../fakes'

let server: FakeServer
let tracker: JobTracker

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  server.streaming = true
  tracker = new JobTracker({ client: server.client() })
})

afterEach(() => {
  tracker.dispose()
  vi.useRealTimers()
})

const HELLO = 'retry: 2000\nevent: hello\nid: a-0\ndata: {"resumed": false}\n\n'

async function opened(): Promise<void> {
  await pass(0)
  server.streams.at(-1)?.send(HELLO)
  await pass(0)
}

describe('a tracker with a stream', () => {
  it('is updated by events and rarely polls', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    expect(tracker.status.value).toBe('streaming')
    expect(server.polls).toHaveLength(1) // for changes from before the stream opened
    server.streams[0]?.job(jobOf(1, 'started', { progress_percentage: 30, age: 1 }))
    await pass(0)
    expect(tracker.get(1)?.progress_percentage).toBe(30)
    await pass(29_000)
    expect(server.polls).toHaveLength(1)
  })

  it('polls from time to time, so that deleted jobs are noticed', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    server.jobs.delete(1)
    await pass(31_000)
    expect(tracker.isGone(1)).toBe(true)
  })

  it('polls until the first byte arrives, because a proxy may hold a stream back', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await pass(1000)
    expect(tracker.status.value).toBe('polling')
    expect(server.polls.length).toBeGreaterThan(2)
  })

  it('polls when the stream ends, and resumes the stream after the last event', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    server.streams[0]?.job(jobOf(1, 'started', { age: 1 }), 'a-17')
    await pass(0)
    const polls = server.polls.length
    server.streams[0]?.end()
    await pass(200)
    expect(tracker.status.value).toBe('polling')
    expect(server.polls.length).toBeGreaterThan(polls)
    await pass(2000)
    expect(server.streams[1]?.lastEventId).toBe('a-17')
    await opened()
    expect(tracker.status.value).toBe('streaming')
  })

  it('counts a stream without heartbeats as ended', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    await pass(44_000)
    expect(server.streams).toHaveLength(1)
    await pass(1000 + 2000)
    expect(server.streams).toHaveLength(2)
  })

  it('increases the delay between attempts to open the stream', async () => {
    server.put(jobOf(1))
    server.streaming = false
    tracker.track(jobOf(1))
    await pass(120_000)
    const tries = server.requests
      .filter((request) => request.path === '/api/events/')
      .map((request) => request.at)
    expect(tries.slice(1).map((time, index) => time - (tries[index] ?? 0))).toEqual([
      1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
    ])
  })

  it('resets the delay after each successful connection', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    for (let count = 1; count <= 10; count += 1) {
      await opened()
      server.streams.at(-1)?.end()
      await pass(2000)
      expect(server.streams).toHaveLength(count + 1)
    }
  })

  it('has one stream for all jobs and closes it when no job is active', async () => {
    server.put(jobOf(1), jobOf(2))
    tracker.track(jobOf(1))
    tracker.track(jobOf(2))
    await opened()
    server.streams[0]?.job(jobOf(1, 'finished', { age: 1 }))
    server.streams[0]?.job(jobOf(2, 'failed', { age: 1 }))
    await pass(0)
    expect(tracker.status.value).toBe('idle')
    expect(server.streams).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('polls at once when the server reports that events were dropped', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    server.put(jobOf(1, 'finished', { age: 5 }))
    server.streams[0]?.send('event: reset\ndata: {}\n\n')
    await pass(0)
    expect(tracker.get(1)?.state).toBe('finished')
  })

  it('ignores unknown and invalid events', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await opened()
    server.streams[0]?.send('event: weather\ndata: {"id": 1, "state": "finished"}\n\n')
    server.streams[0]?.send('event: job\ndata: not json\n\nevent: job\ndata: null\n\n')
    server.streams[0]?.job(jobOf(99, 'finished'))
    await pass(0)
    expect(tracker.status.value).toBe('streaming')
    expect(tracker.jobs.value.map((job) => job.state)).toEqual(['pending'])
  })

  it('recovers from a restart of the server', async () => {
    server.put(jobOf(1, 'started'))
    tracker.track(jobOf(1, 'started'))
    await opened()
    server.broken = offline
    server.streams[0]?.end()
    await pass(5000)
    expect(tracker.status.value).toBe('retrying')
    server.broken = null
    server.put(jobOf(1, 'finished', { age: 9 }))
    await pass(8000)
    expect(tracker.get(1)?.state).toBe('finished')
  })
})
