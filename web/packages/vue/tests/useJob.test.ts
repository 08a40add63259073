import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick, shallowRef } from 'vue'

import { useJob, useJobStore, type JobId, type UseJobOptions } from '../src'
import { FakeServer, jobOf, offline, pass, refusal } from './fakes'
import { withSetup } from './mount'

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
  it('runs, moves and finishes, and each end is told once', async () => {
    const told = callbacks()
    const { job, createAndMonitorJob, ...states } = handle(told)
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
    expect(told.onJobFinished).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ id: 1, state: 'finished' }),
    )
    expect(told.onJobFailed).not.toHaveBeenCalled()
  })

  it.each([
    ['failed', 'onJobFailed'],
    ['cancelled', 'onJobCancelled'],
  ] as const)('that has %s counts as failed, and calls %s', async (state, callback) => {
    const told = callbacks()
    const { createAndMonitorJob, jobHasFailed } = handle(told)
    server.put(jobOf(1, state, { age: 1 }))
    createAndMonitorJob(jobOf(1))
    await pass(60_000)
    expect(jobHasFailed.value).toBe(true)
    expect(told[callback]).toHaveBeenCalledOnce()
    expect(told.onJobFinished).not.toHaveBeenCalled()
  })

  it('that was cancelled here has its callback once', async () => {
    const told = callbacks()
    const { createAndMonitorJob, cancelJob, cancelLoading } = handle(told)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    const release = server.hold()
    const cancelling = cancelJob()
    void cancelJob() // a second click while the first is under way
    expect(cancelLoading.value).toBe(true)
    release()
    await cancelling
    await pass(60_000)
    expect(cancelLoading.value).toBe(false)
    expect(told.onJobCancelled).toHaveBeenCalledOnce()
    expect(server.requests.filter((request) => request.method === 'POST')).toHaveLength(1)
    await cancelJob()
    expect(server.requests.filter((request) => request.method === 'POST')).toHaveLength(1)
  })

  it('that had ended before it was given is told too, once', async () => {
    const told = callbacks()
    const { createAndMonitorJob } = handle(told)
    createAndMonitorJob(jobOf(1, 'finished'))
    await pass(1000)
    createAndMonitorJob(jobOf(1, 'finished'))
    await pass(1000)
    expect(told.onJobFinished).toHaveBeenCalledOnce()
  })

  it('gives way to the next one, which has its own callbacks', async () => {
    const told = callbacks()
    const { createAndMonitorJob, job } = handle(told)
    createAndMonitorJob(jobOf(1, 'finished'))
    await nextTick()
    createAndMonitorJob(jobOf(2, 'finished'))
    await nextTick()
    expect(job.value?.id).toBe(2)
    expect(told.onJobFinished.mock.calls.map(([ended]) => (ended as { id: JobId }).id)).toEqual([
      1, 2,
    ])
  })

  it('that the server has deleted is gone, neither running nor failed', async () => {
    const told = callbacks()
    const { createAndMonitorJob, ...states } = handle(told, 'de-AT')
    createAndMonitorJob(jobOf(1, 'started'))
    await pass(60_000)
    expect(states.jobIsGone.value).toBe(true)
    expect([states.jobIsRunning.value, states.jobIsEnded.value, states.jobHasFailed.value]).toEqual(
      [false, true, false],
    )
    expect(states.jobHumanReadableState.value).toBe('Nicht mehr vorhanden')
    expect(told.onJobGone).toHaveBeenCalledOnce()
  })

  it('shows its label in words', async () => {
    const labelText = (label: string): string | undefined =>
      label.startsWith('importing-table-') ? `Importing table ${label.slice(16)}` : undefined
    const { createAndMonitorJob, jobHumanReadableState } = handle({ labelText })
    createAndMonitorJob(jobOf(1, 'importing-table-7'))
    expect(jobHumanReadableState.value).toBe('Importing table 7')
    createAndMonitorJob(jobOf(2, 'create_archive'))
    await nextTick()
    expect(jobHumanReadableState.value).toBe('Create archive')
  })

  it('stays with the store, not with the component: unmounting stops the callbacks only', async () => {
    const told = callbacks()
    const { createAndMonitorJob, unmount, store } = handle(told)
    server.put(jobOf(1, 'started', { age: 1 }))
    createAndMonitorJob(jobOf(1))
    unmount()
    server.put(jobOf(1, 'finished', { age: 2 }))
    await pass(60_000)
    expect(store.get(1)?.state).toBe('finished')
    expect(told.onJobFinished).not.toHaveBeenCalled()
  })

  it('of another user is forgotten at the logout, without a callback', async () => {
    const told = callbacks()
    const { createAndMonitorJob, job, store } = handle(told)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    await pass(500)
    store.clear()
    await pass(60_000)
    expect(job.value).toBeNull()
    expect(told.onJobGone).not.toHaveBeenCalled()
  })
})

describe('a job given by its id', () => {
  it('is read, followed, and let go with the component', async () => {
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

  it('may use in its callbacks what is declared after it', async () => {
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
  it('says that the job has ended, and throws nothing', async () => {
    const told = callbacks()
    const { createAndMonitorJob, cancelJob, job } = handle(told)
    server.put(jobOf(1, 'finished', { age: 1 }))
    createAndMonitorJob(jobOf(1, 'started'))
    await cancelJob()
    expect(told.showError).toHaveBeenCalledExactlyOnceWith({
      error: 'Cannot be cancelled',
      message: 'The job has already ended.',
    })
    expect(told.onJobCancelFailed).toHaveBeenCalledOnce()
    await pass(0)
    expect(job.value?.state).toBe('finished')
  })

  it.each([
    [
      offline,
      { error: 'Connection failed', message: 'The server cannot be reached. Please try again.' },
    ],
    [
      () => refusal(403, 'ERROR_PERMISSION_DENIED', 'only looking'),
      { error: 'Action failed', message: 'only looking.' },
    ],
  ])('shows what is wrong (%#), and lets the user try again', async (failure, shown) => {
    const told = callbacks()
    const { createAndMonitorJob, cancelJob, cancelLoading } = handle(told)
    server.put(jobOf(1, 'started'))
    createAndMonitorJob(jobOf(1, 'started'))
    server.failures.push(failure)
    await cancelJob()
    expect(told.showError).toHaveBeenCalledExactlyOnceWith(shown)
    expect(told.onJobCancelFailed).toHaveBeenCalledOnce()
    expect(cancelLoading.value).toBe(false)
    await cancelJob()
    expect(told.onJobCancelFailed).toHaveBeenCalledOnce()
  })
})
