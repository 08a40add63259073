import { useState, type ReactElement } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { useJob, useStatus, type JobId, type UseJobOptions, type UseJobReturn } from '../src'
import { errorResponse, FakeServer, jobOf, offline } from '../../client/tests/fakes'
import { acted, after, Page } from './render'

let server: FakeServer
let page: Page

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
})

afterEach(async () => {
  await page.leave()
  vi.useRealTimers()
})

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

/** A component with one job, whose handle is the last one that was rendered. */
async function handle(options: UseJobOptions = {}, id: JobId | null = null, locale = 'en') {
  page = new Page(server, { locale })
  const latest: { current: UseJobReturn } = { current: undefined as never }
  const change: { id: (next: JobId | null) => void } = { id: () => undefined }
  function Handle(): ReactElement {
    const [shown, setShown] = useState(id)
    change.id = setShown
    latest.current = useJob(shown, options)
    return <p>{`${useStatus()} ${latest.current.jobHumanReadableState}`}</p>
  }
  await page.show(<Handle />)
  return { latest, change: (next: JobId | null) => acted(() => change.id(next)) }
}

describe('a job of a component', () => {
  it('runs, reports progress and finishes, with one callback', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    expect([latest.current.job, latest.current.jobIsRunning]).toEqual([null, false])
    server.put(jobOf(1, 'started', { age: 1, progress_percentage: 40 }))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1)))
    expect(latest.current.jobIsRunning).toBe(true)
    expect(page.element.textContent).toBe('polling Waiting to start')
    await after(200)
    expect(latest.current.job?.progress_percentage).toBe(40)
    server.put(jobOf(1, 'finished', { age: 2, progress_percentage: 100 }))
    await after(60_000)
    const { jobIsFinished, jobIsEnded, jobIsRunning, jobHasFailed } = latest.current
    expect([jobIsFinished, jobIsEnded, jobIsRunning, jobHasFailed]).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(spies.onJobFinished).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ id: 1, state: 'finished' }),
    )
    expect(spies.onJobFailed).not.toHaveBeenCalled()
    expect(page.element.textContent).toBe('idle Finished')
  })

  it.each([
    ['failed', 'onJobFailed'],
    ['cancelled', 'onJobCancelled'],
  ] as const)('that has %s counts as failed, and calls %s', async (state, callback) => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    server.put(jobOf(1, state, { age: 1 }))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1)))
    await after(60_000)
    expect(latest.current.jobHasFailed).toBe(true)
    expect(spies[callback]).toHaveBeenCalledOnce()
    expect(spies.onJobFinished).not.toHaveBeenCalled()
  })

  it('that had ended before it was passed calls its callback once', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'finished')))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'finished')))
    expect(spies.onJobFinished).toHaveBeenCalledOnce()
    await acted(() => latest.current.createAndMonitorJob(jobOf(2, 'finished')))
    expect(spies.onJobFinished).toHaveBeenCalledTimes(2)
  })

  it('that the server has deleted is gone, neither running nor failed', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies, null, 'de-AT')
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'started')))
    await after(60_000)
    const { jobIsGone, jobIsRunning, jobIsEnded, jobHasFailed } = latest.current
    expect([jobIsGone, jobIsRunning, jobIsEnded, jobHasFailed]).toEqual([true, false, true, false])
    expect(latest.current.jobHumanReadableState).toBe('Nicht mehr vorhanden')
    expect(spies.onJobGone).toHaveBeenCalledOnce()
  })

  it('goes on after the component is unmounted, without callbacks', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    server.put(jobOf(1, 'finished', { age: 2 }))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1)))
    await page.show(null)
    await after(60_000)
    expect(page.horae.store.get(1)?.state).toBe('finished')
    expect(spies.onJobFinished).not.toHaveBeenCalled()
  })

  it('of another user is forgotten at the logout, without a callback', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    server.put(jobOf(1, 'started'))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'started')))
    await after(500)
    await acted(() => page.horae.store.clear())
    await after(60_000)
    expect(latest.current.job).toBeNull()
    expect(spies.onJobGone).not.toHaveBeenCalled()
  })
})

describe('a job given by its id', () => {
  it('is followed until another one is given, and until the component is unmounted', async () => {
    server.put(jobOf(7, 'started'), jobOf(8, 'importing-cities'))
    const { latest, change } = await handle({}, 7)
    await after(200)
    expect(latest.current.job?.id).toBe(7)
    await change(8)
    await after(1000)
    expect(latest.current.jobHumanReadableState).toBe('Importing cities')
    expect(server.polls.at(-1)?.query.get('job_ids')).toBe('8')
    await page.show(null)
    const before = server.requests.length
    await after(60_000)
    expect(server.requests).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('replaces a job that the component has started', async () => {
    server.put(jobOf(7, 'started'), jobOf(9, 'started'))
    const { latest, change } = await handle({}, null)
    await acted(() => latest.current.createAndMonitorJob(jobOf(9, 'started')))
    expect(latest.current.job?.id).toBe(9)
    await change(7)
    await after(1000)
    expect(latest.current.job?.id).toBe(7)
  })

  it('is one loop and one stream in strict mode', async () => {
    server.streaming = true
    server.put(jobOf(7, 'started'))
    await handle({}, 7)
    await after(250)
    expect(server.polls).toHaveLength(1)
    server.streams.at(-1)?.send('event: hello\nid: a-0\ndata: {"resumed": true}\n\n')
    await after(0)
    server.streams.at(-1)?.job(jobOf(7, 'finished', { age: 3 }))
    await after(0)
    expect(page.element.textContent).toBe('idle Finished')
  })
})

describe('cancelling', () => {
  it('sends one request for two clicks, and calls back once', async () => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    server.put(jobOf(1, 'started'))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'started')))
    const release = server.hold()
    let done: Promise<void> | undefined
    await acted(() => {
      done = latest.current.cancelJob()
      void latest.current.cancelJob()
    })
    expect(latest.current.cancelLoading).toBe(true)
    await acted(async () => {
      release()
      await done
    })
    await after(60_000)
    expect(latest.current.cancelLoading).toBe(false)
    expect(spies.onJobCancelled).toHaveBeenCalledOnce()
    await acted(() => latest.current.cancelJob())
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it.each([
    [offline, 'The server cannot be reached. Please try again.'],
    [() => errorResponse(400, 'ERROR_JOB_NOT_CANCELLABLE'), 'The job has already ended.'],
    [() => errorResponse(403, 'ERROR_PERMISSION_DENIED', 'only looking'), 'only looking.'],
  ])('that fails shows the error, and throws nothing (%#)', async (failure, message) => {
    const spies = callbacks()
    const { latest } = await handle(spies)
    server.put(jobOf(1, 'started'))
    await acted(() => latest.current.createAndMonitorJob(jobOf(1, 'started')))
    server.failures.push(failure)
    await acted(() => latest.current.cancelJob())
    expect(spies.showError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message }))
    expect(spies.onJobCancelFailed).toHaveBeenCalledOnce()
    expect(latest.current.cancelLoading).toBe(false)
  })
})
