import { type ReactElement } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import {
  isUnfinished,
  ProgressBar,
  ProgressCircle,
  useJobEnds,
  useJobs,
  useJobStore,
  type Job,
} from '../src'
import { FakeServer, jobOf } from '../../client/tests/fakes'
import { acted, after, Page } from './render'

const HELLO = 'event: hello\nid: a-0\ndata: {"resumed": false}\n\n'

let server: FakeServer
let page: Page

beforeEach(() => {
  vi.useFakeTimers()
  sessionStorage.clear()
  server = new FakeServer()
  page = new Page(server)
})

afterEach(async () => {
  await page.leave()
  vi.useRealTimers()
})

describe('the jobs of a page', () => {
  it('are listed by type, and started by the store', async () => {
    let renderings = 0
    function Imports(): ReactElement {
      renderings += 1
      const jobs = useJobs((job) => job.type === 'import_csv' && isUnfinished(job))
      const { load } = useJobStore()
      const text = jobs.map(({ id, state }) => `${id} ${state}`).join(', ')
      return <button onClick={() => void load()}>{text}</button>
    }
    server.put(
      jobOf(2, 'started'),
      jobOf(1, 'pending'),
      jobOf(3, 'started', { type: 'export_csv' }),
      ...Array.from({ length: 40 }, (_, at) => jobOf(100 + at, 'started', { type: 'export_csv' })),
    )
    await page.show(<Imports />)
    const before = renderings
    await acted(() => page.element.querySelector('button')?.click())
    await after(0)
    expect(page.element.textContent).toBe('1 pending, 2 started')
    expect(renderings - before).toBeLessThanOrEqual(4) // not one for each job; strict mode renders twice
    server.put(jobOf(2, 'finished', { age: 1 }))
    await after(500)
    expect(page.element.textContent).toBe('1 pending')
  })
})

describe('the hook of a whole application', () => {
  const ended = vi.fn<(job: Job) => void>()

  function Application({ types }: { types: string[] }): ReactElement {
    useJobEnds(types, { onJobFinished: (job) => ended(job) })
    return <p />
  }

  async function open(): Promise<void> {
    await page.show(<Application types={['import_csv', 'other']} />)
    await after(0)
    server.streams.at(-1)?.send(HELLO)
    await after(0)
  }

  beforeEach(() => {
    ended.mockClear()
    server.streaming = true
  })

  it('reports the end of jobs that another tab has started, once each', async () => {
    await open()
    server.streams.at(-1)?.job(jobOf(1, 'started'))
    server.streams.at(-1)?.job(jobOf(1, 'finished', { age: 1 }))
    server.streams.at(-1)?.job(jobOf(1, 'finished', { age: 1 }))
    server.streams.at(-1)?.job(jobOf(2, 'finished', { type: 'export_csv' }))
    await after(0)
    expect(ended.mock.calls.map(([job]) => job.id)).toEqual([1])
  })

  it('reports an end during a reload once, although strict mode starts it twice', async () => {
    server.put(jobOf(1, 'started'))
    await open()
    await page.show(null)
    server.put(jobOf(1, 'finished', { age: 5 }))
    await open()
    expect(ended.mock.calls.map(([job]) => job.id)).toEqual([1])
  })

  it('keeps its stream when the component is rendered again, and ends with it', async () => {
    await open()
    const before = server.requests.length
    await page.show(<Application types={['import_csv', 'other']} />)
    await after(0)
    expect(server.requests).toHaveLength(before)
    await page.show(null)
    await after(120_000)
    expect(server.requests).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('progress', () => {
  it('is a bar as in the Vue package', async () => {
    await page.show(<ProgressBar value={120} status="Full" showOverflow failed label="Copy" />)
    const bar = page.element.querySelector('[role=progressbar]')
    expect(bar?.getAttribute('aria-valuenow')).toBe('100')
    expect(bar?.getAttribute('aria-label')).toBe('Copy')
    expect(page.element.textContent).toBe('120% · Full')
    expect(bar?.firstElementChild?.className).toBe(
      'horae-progress__bar horae-progress__bar--still horae-progress__bar--over horae-progress__bar--failed',
    )
    await page.show(<ProgressBar value={40} showValue={false} />)
    expect(page.element.textContent).toBe('')
    expect(bar?.getAttribute('aria-valuetext')).toBe('40%')
  })

  it('is a circle', async () => {
    await page.show(<ProgressCircle value={40} status="Copying" />)
    const circle = page.element.querySelector('[role=progressbar]')
    expect(circle?.getAttribute('aria-valuenow')).toBe('40')
    const bar = page.element.querySelector('.horae-circle__bar')
    expect(bar?.getAttribute('stroke-dasharray')).toBe('40 100')
    expect(page.element.textContent).toBe('40%Copying')
  })
})
