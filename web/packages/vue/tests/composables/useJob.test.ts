import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick, shallowRef } from 'vue'

import { useJob, useJobStore, type JobId, type UseJobOptions } from '../../src'
import { FakeServer, jobOf, offline, pass, errorResponse } from '../../../client/tests/fakes'
import { withSetup } from '../mount'

let server: FakeServer

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
})
afterEach(() => vi.useRealTimers())

function callbacks() {
  const spy = () => vi.fn<(given: unknown) => void>()
  return {
    onJobFinished: spy(),
    onJobFailed: spy(),
    onJobCancelled: spy(),
    onJobGone: spy(),
    onJobCancelFailed: spy(),
    showError: spy(),
  }
}

function handle(options: UseJobOptions = {}, locale = 'en') {
  const mounted = withSetup(() => ({ ...useJob(null, options), store: useJobStore() }), {
    client: server.client(),
    locale,
  })
  return { ...mounted, ...mounted.result }
}

describe('a job of a component', () => {
  it('runs, reports progress and finishes, with one callback', async () => {
    const callbackSpies = callbacks()
    const { job, createAndMonitorJob, ...states } = handle(callbackSpies)
    expect([job.value, states.jobIsRunning.value, states.jobHumanReadableState.value]).toEqual([
      null,
      false,
      '',
    ])
    server.put(jobOf(1, 'started', { age: 1, progress_percentage: 40 }))
    createAndMonitorJob(jobOf(1))
    expect(states.jobIsRunning.value).toBe(true)
    expect(states.jobHumanReadableState.value).toBe('Waiting to start')
    await pass(200)
    expect(job.value?.progress_percentage).toBe(40)
    server.put(jobOf(1, 'finished', { age: 2, progress_percentage: 100 }))
    await pass(60_000)
    expect([
      states.jobIsFinished.value,
      states.jobIsEnded.value,
      states.jobIsRunning.value,
    ]).toEqual([true, true, false])
    expect(callbackSpies.onJobFinished).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ id: 1, state: 'finished' }),
    )
    expect(callbackSpies.onJobFailed).not.toHaveBeenCalled()
  })

  it.each([
    ['failed', 'onJobFailed'],
    ['cancelled', 'onJobCancelled'],
  ] as const)('that has %s counts as failed, and calls %s', async (state, callback) => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, jobHasFailed } = handle(callbackSpies)
    server.put(jobOf(1, state, { age: 1 }))
    createAndMonitorJob(jobOf(1))
    await pass(60_000)
    expect(jobHasFailed.value).toBe(true)
    expect(callbackSpies[callback]).toHaveBeenCalledOnce()
    expect(callbackSpies.onJobFinished).not.toHaveBeenCalled()
  })

  it('that is cancelled here calls its callback once', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, cancelJob, cancelLoading } = handle(callbackSpies)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    const release = server.hold()
    const cancelling = cancelJob()
    void cancelJob() // a second click during the first request
    expect(cancelLoading.value).toBe(true)
    release()
    await cancelling
    await pass(60_000)
    expect(cancelLoading.value).toBe(false)
    expect(callbackSpies.onJobCancelled).toHaveBeenCalledOnce()
    expect(server.requests.filter((request) => request.method === 'POST')).toHaveLength(1)
    await cancelJob()
    expect(server.requests.filter((request) => request.method === 'POST')).toHaveLength(1)
  })

  it('that had ended before it was passed calls its callback once', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob } = handle(callbackSpies)
    createAndMonitorJob(jobOf(1, 'finished'))
    await pass(1000)
    createAndMonitorJob(jobOf(1, 'finished'))
    await pass(1000)
    expect(callbackSpies.onJobFinished).toHaveBeenCalledOnce()
  })

  it('is replaced by the next one, which calls its own callbacks', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, job } = handle(callbackSpies)
    createAndMonitorJob(jobOf(1, 'finished'))
    await nextTick()
    createAndMonitorJob(jobOf(2, 'finished'))
    await nextTick()
    expect(job.value?.id).toBe(2)
    expect(
      callbackSpies.onJobFinished.mock.calls.map(([ended]) => (ended as { id: JobId }).id),
    ).toEqual([1, 2])
  })

  it('that the server has deleted is gone, neither running nor failed', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, ...states } = handle(callbackSpies, 'de-AT')
    createAndMonitorJob(jobOf(1, 'started'))
    await pass(60_000)
    expect(states.jobIsGone.value).toBe(true)
    expect([states.jobIsRunning.value, states.jobIsEnded.value, states.jobHasFailed.value]).toEqual(
      [false, true, false],
    )
    expect(states.jobHumanReadableState.value).toBe('Nicht mehr vorhanden')
    expect(callbackSpies.onJobGone).toHaveBeenCalledOnce()
  })

  it('shows its label as text', async () => {
    const labelText = (label: string): string | undefined =>
      label.startsWith('importing-table-') ? `Importing table ${label.slice(16)}` : undefined
    const { createAndMonitorJob, jobHumanReadableState } = handle({ labelText })
    createAndMonitorJob(jobOf(1, 'importing-table-7'))
    expect(jobHumanReadableState.value).toBe('Importing table 7')
    createAndMonitorJob(jobOf(2, 'create_archive'))
    await nextTick()
    expect(jobHumanReadableState.value).toBe('Create archive')
  })

  it('is tracked by the store: unmounting the component stops only the callbacks', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, unmount, store } = handle(callbackSpies)
    server.put(jobOf(1, 'started', { age: 1 }))
    createAndMonitorJob(jobOf(1))
    unmount()
    server.put(jobOf(1, 'finished', { age: 2 }))
    await pass(60_000)
    expect(store.get(1)?.state).toBe('finished')
    expect(callbackSpies.onJobFinished).not.toHaveBeenCalled()
  })

  it('of another user is forgotten at the logout, without a callback', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, job, store } = handle(callbackSpies)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    await pass(500)
    store.clear()
    await pass(60_000)
    expect(job.value).toBeNull()
    expect(callbackSpies.onJobGone).not.toHaveBeenCalled()
  })
})

describe('a job given by its id', () => {
  it('is read and followed until the component is unmounted', async () => {
    const id = shallowRef<JobId | null>(7)
    server.put(jobOf(7, 'started'), jobOf(8, 'started'))
    const { result, unmount } = withSetup(() => useJob(id), { client: server.client() })
    await pass(200)
    expect(result.job.value?.id).toBe(7)
    id.value = 8
    await pass(1000)
    expect(result.job.value?.id).toBe(8)
    expect(server.polls.at(-1)?.query.get('job_ids')).toBe('8')
    unmount()
    const before = server.requests.length
    await pass(60_000)
    expect(server.requests).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('may use variables in its callbacks that are declared later', async () => {
    server.put(jobOf(7, 'finished'))
    const { result } = withSetup(
      () => {
        useJobStore().track(jobOf(7, 'finished'))
        const { job } = useJob(7, { onJobFinished: () => (seen.value = job.value?.id) })
        const seen = shallowRef<number>()
        return seen
      },
      { client: server.client() },
    )
    await nextTick()
    expect(result.value).toBe(7)
  })
})

describe('cancelling that fails', () => {
  it('reports that the job has ended, and throws nothing', async () => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, cancelJob, job } = handle(callbackSpies)
    server.put(jobOf(1, 'finished', { age: 1 }))
    createAndMonitorJob(jobOf(1, 'started'))
    await cancelJob()
    expect(callbackSpies.showError).toHaveBeenCalledExactlyOnceWith({
      error: 'Cannot be cancelled',
      message: 'The job has already ended.',
    })
    expect(callbackSpies.onJobCancelFailed).toHaveBeenCalledOnce()
    await pass(0)
    expect(job.value?.state).toBe('finished')
  })

  it.each([
    [
      offline,
      { error: 'Connection failed', message: 'The server cannot be reached. Please try again.' },
    ],
    [
      () => errorResponse(403, 'ERROR_PERMISSION_DENIED', 'only looking'),
      { error: 'Action failed', message: 'only looking.' },
    ],
  ])('shows the error (%#), and lets the user try again', async (failure, shown) => {
    const callbackSpies = callbacks()
    const { createAndMonitorJob, cancelJob, cancelLoading } = handle(callbackSpies)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    server.failures.push(failure)
    await cancelJob()
    expect(callbackSpies.showError).toHaveBeenCalledExactlyOnceWith(shown)
    expect(callbackSpies.onJobCancelFailed).toHaveBeenCalledOnce()
    expect(cancelLoading.value).toBe(false)
    await cancelJob()
    expect(callbackSpies.onJobCancelFailed).toHaveBeenCalledOnce()
  })
})
