import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { JobTracker } from '../../src'
import { FakeServer, jobOf, offline, pass, errorResponse, unauthorized } from '../fakes'

let server: FakeServer
let tracker: JobTracker

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  tracker = new JobTracker({ client: server.client() })
})

afterEach(() => {
  tracker.dispose()
  vi.useRealTimers()
})

/** The intervals between the polls, in milliseconds. */
function intervals(): number[] {
  const times = server.polls.map((request) => request.at)
  return times.slice(1).map((time, index) => time - (times[index] ?? 0))
}

describe('polling', () => {
  it('starts after 200 ms and slows down to two seconds', async () => {
    server.put(jobOf(1))
    const start = Date.now()
    tracker.track(jobOf(1))
    await pass(12_000)
    expect((server.polls[0]?.at ?? 0) - start).toBe(200)
    expect(intervals().slice(0, 7)).toEqual([300, 450, 675, 1012, 1518, 2000, 2000])
  })

  it('slows down once the request budget is used up', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await pass(230_000)
    expect(intervals().at(-1)).toBe(10_000)
  })

  it('speeds up again when another job is added', async () => {
    server.put(jobOf(1), jobOf(2))
    tracker.track(jobOf(1))
    await pass(20_000)
    const before = server.polls.length
    tracker.track(jobOf(2))
    await pass(200)
    expect(server.polls.slice(before).map((request) => request.query.get('job_ids'))).toEqual([
      '1,2',
    ])
  })

  it('sends no request while no job is active', async () => {
    await pass(60_000)
    tracker.track(jobOf(1, 'finished'))
    await pass(60_000)
    expect(server.requests).toEqual([])
    expect(tracker.status.value).toBe('idle')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops when the last job has ended, and starts again with the next one', async () => {
    server.put(jobOf(1, 'finished', { age: 1 }))
    tracker.track(jobOf(1))
    await pass(60_000)
    expect(server.polls).toHaveLength(1)
    expect(tracker.get(1)?.state).toBe('finished')
    server.put(jobOf(2))
    tracker.track(jobOf(2))
    await pass(200)
    expect(server.polls).toHaveLength(2)
  })

  it('is one loop even if a job is created during a request', async () => {
    server.put(jobOf(1), jobOf(2))
    tracker.track(jobOf(1))
    const release = server.hold()
    await pass(250)
    tracker.track(jobOf(2))
    await pass(5000)
    expect(server.polls).toHaveLength(1)
    release()
    await pass(0)
    await pass(200 + 300 + 450)
    expect(server.polls).toHaveLength(4)
    expect(vi.getTimerCount()).toBe(2) // the next poll, and the next attempt to open the stream
  })

  it('splits requests for many jobs', async () => {
    const jobs = Array.from({ length: 450 }, (_, index) => jobOf(index + 1))
    server.put(...jobs)
    for (const job of jobs) tracker.track(job)
    await pass(250)
    expect(server.polls.map((request) => request.query.get('job_ids')?.split(',').length)).toEqual([
      200, 200, 50,
    ])
  })

  it('reads all pages of a list', async () => {
    const page = (jobs: unknown[], next: string | null) => () =>
      new Response(JSON.stringify({ jobs, next }), { status: 200 })
    tracker.track(jobOf(1))
    tracker.track(jobOf(2))
    await pass(100)
    server.failures.push(page([jobOf(1, 'started')], '1'), page([jobOf(2, 'started')], null))
    await pass(150)
    expect([tracker.isGone(1), tracker.isGone(2)]).toEqual([false, false])
    expect(server.polls.at(-1)?.query.get('cursor')).toBe('1')
  })
})

describe('errors', () => {
  it('make polling back off until the server recovers', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await pass(200)
    server.broken = offline
    await pass(30_000)
    expect(tracker.status.value).toBe('retrying')
    expect(intervals().slice(-3)).toEqual([2000, 4000, 8000])
    server.broken = null
    server.put(jobOf(1, 'finished', { age: 9 }))
    await pass(60_000)
    expect(tracker.get(1)?.state).toBe('finished')
    expect(tracker.status.value).toBe('idle')
  })

  it('delay polling by a minute at most', async () => {
    server.broken = () => errorResponse(500, 'ERROR_INTERNAL')
    tracker.track(jobOf(1))
    await pass(600_000)
    expect(Math.max(...intervals())).toBe(60_000)
  })

  it('include requests that time out', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    const hanging = vi.fn(
      (_input: unknown, init: RequestInit) =>
        new Promise<Response>((_resolve, reject) => {
          init.signal?.addEventListener('abort', () =>
            reject(new DOMException('late', 'AbortError')),
          )
        }),
    )
    const slow = new JobTracker({
      client: server.client({ fetch: hanging as typeof fetch, timeout: 5000 }),
    })
    slow.track(jobOf(1))
    await pass(200 + 5000)
    expect(slow.status.value).toBe('retrying')
    slow.dispose()
  })

  it('do not mark jobs as gone', async () => {
    server.broken = offline
    tracker.track(jobOf(1))
    await pass(10_000)
    expect(tracker.isGone(1)).toBe(false)
  })
})

describe('sessions', () => {
  it('can follow each other: logout, then login', async () => {
    server.put(jobOf(1), jobOf(2))
    tracker.track(jobOf(1))
    await pass(1000)
    tracker.clear()
    const before = server.polls.length
    await pass(10_000)
    expect(server.polls).toHaveLength(before)
    expect(tracker.jobs.value).toEqual([])
    await tracker.load()
    await pass(200)
    expect(server.polls.at(-1)?.query.get('job_ids')).toBe('1,2')
    expect(tracker.unfinishedJobs.value.map((job) => job.id)).toEqual([1, 2])
  })

  it('load only the jobs of the user, even if staff can see all', async () => {
    server.me = { ...server.me, id: 'eve', sees_all: true }
    await tracker.load()
    const asked = server.requests.filter(({ path }) => path === '/api/jobs/')
    expect(asked[0]?.query.get('owner')).toBe('eve')
  })

  it('do not mix: responses of an earlier session are ignored', async () => {
    server.put(jobOf(1))
    const releases = [server.hold(), server.hold()]
    const loading = tracker.load()
    const creating = tracker.cancel(1)
    tracker.clear()
    for (const release of releases) release()
    await Promise.all([loading, creating])
    expect(tracker.jobs.value).toEqual([])
    expect(tracker.status.value).toBe('idle')
  })

  it('stop when authentication is required, until the user logs in', async () => {
    const client = server.client()
    const own = new JobTracker({ client })
    server.put(jobOf(1))
    own.track(jobOf(1))
    server.broken = unauthorized
    await pass(60_000)
    expect(own.status.value).toBe('unauthorized')
    const before = server.requests.length
    await pass(60_000)
    expect(server.requests).toHaveLength(before)
    server.broken = null
    client.authorize('secret')
    await pass(200)
    expect(server.polls.at(-1)?.headers.get('Authorization')).toBe('Bearer secret')
    expect(own.status.value).toBe('polling')
    own.dispose()
  })

  it('can be loaded again after a failed load', async () => {
    server.broken = offline
    await expect(tracker.load()).rejects.toThrow('cannot be reached')
    server.broken = null
    server.put(jobOf(4))
    await tracker.load()
    expect(tracker.get(4)?.state).toBe('pending')
  })
})

describe('reports', () => {
  it('mark a job as gone that the server no longer has', async () => {
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    await pass(200)
    server.jobs.delete(1)
    await pass(60_000)
    expect(tracker.isGone(1)).toBe(true)
    expect(tracker.unfinishedJobs.value).toEqual([])
    expect(tracker.status.value).toBe('idle')
  })

  it('that lack a job do not mark it as gone if it was updated during the request', async () => {
    tracker.follow(1)
    const release = server.hold()
    await pass(200) // a poll is in progress, answered without the job
    server.put(jobOf(1))
    tracker.track(jobOf(1))
    release()
    await pass(0)
    expect(tracker.isGone(1)).toBe(false)
  })

  it('with unknown types and labels are accepted', async () => {
    server.put(jobOf(1, 'importing-table-7', { type: 'unknown-type', age: 1, odd: { field: 1 } }))
    tracker.track(jobOf(1, 'pending', { type: 'unknown-type' }))
    await pass(200)
    expect(tracker.get(1)).toMatchObject({ state: 'importing-table-7', odd: { field: 1 } })
    expect(tracker.unfinishedJobs.value).toHaveLength(1)
  })

  it('from before a cancellation never revert it', async () => {
    server.put(jobOf(1, 'started'))
    tracker.track(jobOf(1, 'started'))
    const release = server.hold()
    await pass(200) // a poll is in progress, answered with "started"
    await tracker.cancel(1)
    release()
    await pass(0)
    expect(tracker.get(1)?.state).toBe('cancelled')
    await pass(10_000)
    expect(tracker.get(1)?.state).toBe('cancelled')
  })

  it('that are outdated are ignored', () => {
    tracker.track(jobOf(1, 'started', { age: 5, progress_percentage: 50 }))
    expect(tracker.track(jobOf(1, 'pending', { age: 1 })).progress_percentage).toBe(50)
  })

  it('that were requested before an update are ignored', async () => {
    server.put(jobOf(1, 'started', { progress_percentage: 10 }))
    tracker.track(jobOf(1, 'started'))
    const release = server.hold()
    await pass(200)
    tracker.track(jobOf(1, 'started', { progress_percentage: 40 }))
    release()
    await pass(0)
    expect(tracker.get(1)?.progress_percentage).toBe(40)
  })

  it('of a final state are final', () => {
    tracker.track(jobOf(1, 'finished'))
    tracker.track(jobOf(1, 'started', { age: 60 }))
    expect(tracker.get(1)?.state).toBe('finished')
  })

  it('update a job that is tracked twice', () => {
    tracker.track(jobOf(1))
    tracker.track(jobOf(1, 'started', { age: 1, progress_percentage: 20 }))
    expect(tracker.jobs.value).toHaveLength(1)
    expect(tracker.get(1)?.progress_percentage).toBe(20)
  })
})

describe('following', () => {
  it('reads an unknown job, and stops when it is released', async () => {
    server.put(jobOf(9, 'started'))
    const release = tracker.follow(9)
    await pass(1000)
    expect(tracker.get(9)?.state).toBe('started')
    release()
    release()
    const before = server.requests.length
    await pass(60_000)
    expect(server.requests).toHaveLength(before)
    expect(tracker.get(9)).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('continues while another component follows the job', async () => {
    server.put(jobOf(9, 'started'))
    const first = tracker.follow(9)
    const second = tracker.follow(9)
    first()
    first()
    await pass(1000)
    expect(tracker.get(9)).toBeDefined()
    second()
    expect(tracker.status.value).toBe('idle')
  })

  it('of an earlier session releases nothing in this one', async () => {
    server.put(jobOf(9, 'started'))
    const before = tracker.follow(9)
    tracker.clear()
    tracker.follow(9)
    before()
    await pass(300)
    expect(tracker.get(9)?.state).toBe('started')
  })

  it('keeps a limited number of ended jobs', () => {
    for (let id = 1; id <= 80; id += 1) tracker.track(jobOf(id, 'finished'))
    expect(tracker.jobs.value).toHaveLength(50)
    expect(tracker.get(80)).toBeDefined()
  })
})

describe('cancelling', () => {
  it('reads the job again when it has just ended, and reports why it failed', async () => {
    server.put(jobOf(1, 'finished', { age: 3 }))
    tracker.track(jobOf(1, 'started'))
    await expect(tracker.cancel(1)).rejects.toMatchObject({ code: 'ERROR_JOB_NOT_CANCELLABLE' })
    await pass(0)
    expect(tracker.get(1)?.state).toBe('finished')
  })
})
