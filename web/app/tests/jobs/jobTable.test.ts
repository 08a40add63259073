import { createHorae } from '@horae/vue'
import { createPinia } from 'pinia'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createApp, h, type SetupContext } from 'vue'

import type { ListedJob } from '@/jobs/listed'
import JobTable from '@/views/jobs/JobTable.vue'
import { at, jobOf, START } from '../jobFixtures'

/** Return the texts of the cells of one job, fifteen seconds after the start. */
function cellsOf(job: ListedJob): string[] {
  vi.useFakeTimers({ now: START + 15_000 })
  const place = document.createElement('div')
  const app = createApp(JobTable, {
    jobs: [job],
    selected: new Map(),
    current: null,
    selectable: false,
    columns: ['reason', 'queue', 'created', 'duration'],
    order: { by: 'created', reversed: false },
  })
  app.component('RouterLink', (_: unknown, { slots }: Pick<SetupContext, 'slots'>) =>
    h('a', slots['default']?.()),
  )
  app.use(createPinia()).use(createHorae())
  app.mount(place)
  const cells = [...place.querySelectorAll('tbody td')].map((cell) => cell.textContent.trim())
  app.unmount()
  return cells
}

afterEach(() => void vi.useRealTimers())

describe('the list of jobs', () => {
  it('says what a change of many jobs was refused', () => {
    const job = { ...jobOf(1, 'finished', { type: 'horae.bulk' }), refused: 50 }
    expect(cellsOf(job)[2]).toBe('50 refused')
  })

  it('shows when and why a job is tried again, and no duration meanwhile', () => {
    const cells = cellsOf(
      jobOf(1, 'pending', {
        attempt: 1,
        max_attempts: 3,
        started_on: at(0),
        due_on: at(60),
        retry_reason: 'ConnectionError',
      }),
    )
    expect(cells[2]).toContain('Next attempt in 45 s')
    expect(cells[2]).toContain('ConnectionError')
    expect(cells.at(-1)).toBe('–')
  })

  it('counts up the duration of a job that runs', () => {
    expect(cellsOf(jobOf(1, 'started', { started_on: at(3) })).at(-1)).toBe('12 s')
  })

  it('shows the line of the exception to those whom the server tells it', () => {
    const failed = { ...jobOf(1, 'failed', {}), human_readable_error: 'No answer.' }
    expect(cellsOf(failed)[2]).toBe('No answer.')
    expect(cellsOf({ ...failed, error_line: 'OSError: no disk' })[2]).toBe('OSError: no disk')
  })
})
