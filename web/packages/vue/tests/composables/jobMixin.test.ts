import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { defineComponent } from 'vue'

import { jobMixin, ProgressBar, type Job, type ShownError } from '../../src'
import { FakeServer, jobOf, pass, errorResponse } from '../../../client/tests/fakes'
import { mount } from '../mount'

let server: FakeServer

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
})
afterEach(() => vi.useRealTimers())

/** A component that uses the Options API. */
function importer(log: string[]) {
  return defineComponent({
    components: { ProgressBar },
    mixins: [jobMixin],
    methods: {
      onJobFinished(job: Job) {
        log.push(`finished ${job.id} ${this.jobIsFinished}`)
      },
      onJobFailed: () => log.push('failed'),
      onJobCancelled: () => log.push('cancelled'),
      onJobCancelFailed: () => log.push('cancel failed'),
      showError: ({ error, message }: ShownError) => log.push(`${error}: ${message}`),
    },
    render() {
      return `${this.jobHumanReadableState}|${this.job?.progress_percentage}|${[
        this.jobIsRunning,
        this.jobIsFinished,
        this.jobIsEnded,
        this.jobHasFailed,
      ]
        .map(Number)
        .join('')}`
    },
  })
}

function mountImporter() {
  const log: string[] = []
  const mounted = mount(importer(log), { client: server.client(), locale: 'de' })
  const component = mounted.app._instance?.proxy as InstanceType<typeof jobMixin>
  return { ...mounted, component, log, text: () => mounted.element.textContent }
}

describe('the job mixin', () => {
  it('shows a job until it ends, and calls its callback once', async () => {
    const { component, text, log } = mountImporter()
    server.put(jobOf(1, 'started', { age: 1, progress_percentage: 40 }))
    expect(component.job).toBeNull()
    component.createAndMonitorJob(jobOf(1))
    await pass(0)
    expect(text()).toBe('Wartet auf Start|0|1000')
    await pass(200)
    expect(text()).toBe('Läuft|40|1000')
    server.put(jobOf(1, 'finished', { age: 2, progress_percentage: 100 }))
    await pass(60_000)
    expect(text()).toBe('Fertig|100|0110')
    expect(log).toEqual(['finished 1 true'])
  })

  it('cancels, and calls its callback once', async () => {
    const { component, text, log } = mountImporter()
    server.put(jobOf(1, 'started'))
    component.createAndMonitorJob(jobOf(1, 'started'))
    await component.cancelJob()
    await pass(60_000)
    expect(text()).toBe('Abgebrochen|0|0011')
    expect(log).toEqual(['cancelled'])
  })

  it('shows why a cancel failed', async () => {
    const { component, log } = mountImporter()
    server.put(jobOf(1, 'started'))
    component.createAndMonitorJob(jobOf(1, 'started'))
    server.failures.push(() => errorResponse(400, 'ERROR_JOB_NOT_CANCELLABLE'))
    await component.cancelJob()
    expect(component.cancelLoading).toBe(false)
    expect(log).toEqual([
      'Abbrechen nicht möglich: Der Auftrag ist bereits beendet.',
      'cancel failed',
    ])
  })

  it('works in a component that defines no callback', async () => {
    const bare = defineComponent({ mixins: [jobMixin], render: () => null })
    const mounted = mount(bare, { client: server.client() })
    const component = mounted.app._instance?.proxy as InstanceType<typeof jobMixin>
    component.createAndMonitorJob(jobOf(1, 'failed'))
    await pass(0)
    expect(component.jobHasFailed).toBe(true)
    mounted.unmount()
  })

  it('calls nothing after the component is unmounted', async () => {
    const { component, log, unmount } = mountImporter()
    server.put(jobOf(1, 'finished', { age: 1 }))
    component.createAndMonitorJob(jobOf(1))
    unmount()
    await pass(60_000)
    expect(log).toEqual([])
  })
})
