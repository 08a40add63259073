import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { createClient, followJob, HoraeError, type HoraeClient } from '../src'
import { errorResponse, FakeServer, jobOf, offline, pass } from './fakes'

let server: FakeServer
let client: HoraeClient

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  client = createClient({ fetch: server.fetch, shareEvents: false })
})

afterEach(() => vi.useRealTimers())

describe('the client without Vue', () => {
  it('follows a job to its end, and returns it as the server has it', async () => {
    server.put(jobOf(1, 'pending'))
    const seen: string[] = []
    const end = followJob(client, 1, { onChange: (job) => seen.push(job.state) })
    await pass(0)
    server.put(jobOf(1, 'importing', { age: 1 }))
    await pass(1000)
    server.put(jobOf(1, 'finished', { age: 2 }))
    await pass(3000)
    expect((await end).state).toBe('finished')
    expect(seen).toEqual(['pending', 'importing', 'finished'])
    const requests = server.requests.length
    await pass(120_000)
    expect(server.requests).toHaveLength(requests)
  })

  it('hears of an end by an event, and reads the result', async () => {
    server.streaming = true
    server.put(jobOf(1, 'started'))
    const end = followJob(client, 1)
    await pass(0)
    server.streams[0]?.send('event: hello\nid: a-0\ndata: {"resumed": true}\n\n')
    await pass(500)
    server.put({ ...jobOf(1, 'finished', { age: 2 }), result: 42 })
    server.streams[0]?.job(jobOf(1, 'finished', { age: 2 }))
    await pass(1)
    expect((await end).result).toBe(42)
    expect(client.events.status.value).toBe('closed')
  })

  it('goes on while the server is away, and ends when it refuses', async () => {
    server.put(jobOf(1, 'started'))
    server.failures.push(offline, () => errorResponse(503, 'ERROR_UNAVAILABLE'))
    const end = followJob(client, 1)
    const refused = expect(end).rejects.toBeInstanceOf(HoraeError)
    await pass(10_000)
    server.jobs.delete(1)
    await pass(10_000)
    await refused
  })

  it('ends when it is aborted', async () => {
    server.put(jobOf(1, 'started'))
    const abort = new AbortController()
    const end = followJob(client, 1, { signal: abort.signal })
    const aborted = expect(end).rejects.toThrow('enough')
    await pass(0)
    abort.abort(new Error('enough'))
    await aborted
    const requests = server.requests.length
    await pass(60_000)
    expect(server.requests).toHaveLength(requests)
  })
})
