import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { useJobEnds, type Job } from '../src'
import { FakeServer, jobOf, offline, pass } from '../../client/tests/fakes'
import { withSetup, type Mounted } from './mount'

const HELLO = 'event: hello\nid: a-0\ndata: {"resumed": false}\n\n'

let server: FakeServer
let page: Mounted | null
const ended = vi.fn<(job: Job) => void>()
const failed = vi.fn<(job: Job) => void>()

beforeEach(() => {
  vi.useFakeTimers()
  sessionStorage.clear()
  server = new FakeServer()
  server.streaming = true
})

afterEach(() => {
  page?.unmount()
  page = null
  vi.clearAllMocks()
  vi.useRealTimers()
})

/** Open the page of the application. */
async function open(): Promise<void> {
  const hooks = (): void => useJobEnds('import_csv', { onJobFinished: ended, onJobFailed: failed })
  page = withSetup(hooks, { client: server.client() })
  await pass(0)
  server.streams.at(-1)?.send(HELLO)
  await pass(0)
}

const idsOf = (callback: typeof ended): number[] => callback.mock.calls.map(([job]) => job.id)

describe('the hook of a whole application', () => {
  it('reports the end of jobs that another tab has started, once each', async () => {
    await open()
    server.streams.at(-1)?.job(jobOf(1, 'started'))
    server.streams.at(-1)?.job(jobOf(1, 'finished', { age: 1 }))
    server.streams.at(-1)?.job(jobOf(1, 'finished', { age: 1 }))
    server.streams.at(-1)?.job(jobOf(2, 'failed'))
    server.streams.at(-1)?.job(jobOf(3, 'finished', { type: 'export_csv' }))
    server.streams.at(-1)?.job(jobOf(4, 'finished', { owner: 'bob' }))
    await pass(0)
    expect([idsOf(ended), idsOf(failed)]).toEqual([[1], [2]])
  })

  it('reports an end during a reload, but not one from before', async () => {
    server.put(jobOf(1, 'started'), jobOf(2, 'finished'))
    await open()
    page?.unmount()
    server.put(jobOf(1, 'finished', { age: 5 }))
    await open()
    expect(idsOf(ended)).toEqual([1])
    page?.unmount()
    await open()
    expect(idsOf(ended)).toEqual([1])
  })

  it('finds an end that no event reports, also after the server was away', async () => {
    server.put(jobOf(1, 'started'))
    await open()
    server.broken = offline
    await pass(31_000)
    server.broken = null
    server.put(jobOf(1, 'finished', { age: 5 }))
    await pass(31_000)
    expect(idsOf(ended)).toEqual([1])
  })

  it('forgets a deleted job, and does nothing after its end', async () => {
    server.put(jobOf(1, 'started'))
    await open()
    server.jobs.delete(1)
    await pass(31_000)
    expect(sessionStorage.getItem('horae-unfinished import_csv')).toBe('[]')
    page?.unmount()
    page = null
    const before = server.requests.length
    await pass(65_000)
    expect([idsOf(ended), server.requests.length]).toEqual([[], before])
  })

  it('survives a storage with foreign content', async () => {
    sessionStorage.setItem('horae-unfinished import_csv', '{"a": 1}')
    await open()
    server.streams.at(-1)?.job(jobOf(1, 'finished'))
    await pass(0)
    expect(idsOf(ended)).toEqual([1])
  })
})
