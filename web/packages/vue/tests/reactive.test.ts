import { effectScope, watch } from 'vue'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { createClient, JobTracker } from '../src'
import { FakeServer, jobOf, pass } from '../../client/tests/fakes'

let server: FakeServer

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
})

afterEach(() => vi.useRealTimers())

it('lets watchers follow the jobs and the status of a tracker', async () => {
  const tracker = new JobTracker({ client: server.client() })
  const seen: unknown[] = []
  const scope = effectScope()
  scope.run(() =>
    watch(
      () => [tracker.status.value, tracker.jobs.value.map((job) => job.state), tracker.isGone(1)],
      (now) => seen.push(now),
      { flush: 'sync' },
    ),
  )
  server.put(jobOf(1, 'finished', { age: 1 }))
  tracker.track(jobOf(1))
  expect(seen.at(-1)).toEqual(['polling', ['pending'], false])
  await pass(1000)
  expect(seen.at(-1)).toEqual(['idle', ['finished'], false])
  scope.stop()
  tracker.dispose()
})

it('lets watchers follow the status of the event stream', async () => {
  server.streaming = true
  const { events } = createClient({ fetch: server.fetch, shareEvents: false })
  const seen: string[] = []
  const scope = effectScope()
  scope.run(() =>
    watch(
      () => events.status.value,
      (status) => seen.push(status),
      { flush: 'sync' },
    ),
  )
  const leave = events.subscribe({})
  await pass(0)
  leave()
  scope.stop()
  expect(seen).toEqual(['connecting', 'closed'])
})
