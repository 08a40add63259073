import { afterEach, expect, it, vi } from 'vitest'
import { createApp, h, nextTick } from 'vue'

import { schedules, type Why } from '@/api/schedules'
import WhyAnswer from '@/views/schedules/WhyAnswer.vue'

const GAP = {
  kind: 'not_a_time',
  moment: '2026-11-23T03:30:00Z',
  timezone: 'UTC',
  before: '2026-11-23T03:00:00Z',
  after: '2026-11-23T04:00:00Z',
  job_id: null,
  blocked_by: null,
  paused_by: null,
  paused_on: null,
  no_node_from: null,
  no_node_until: null,
  nodes: [],
} as unknown as Why

afterEach(() => void vi.restoreAllMocks())

it('asks about a nearest time when it is pressed, and about a new moment of the page', async () => {
  const why = vi
    .spyOn(schedules, 'why')
    .mockImplementation((_id, at) =>
      Promise.resolve(at === GAP.after ? { ...GAP, kind: 'forgotten' } : GAP),
    )
  let at = GAP.moment
  const page = document.createElement('div')
  document.body.append(page)
  const app = createApp({ render: () => h(WhyAnswer, { id: 7, at }) })
  app.component('RouterLink', { render: () => null })
  const instance = app.mount(page)
  await vi.waitFor(() => expect(page.querySelectorAll('[data-testid=why-nearest]')).toHaveLength(2))
  page.querySelectorAll<HTMLElement>('[data-testid=why-nearest]')[1]!.click()
  await vi.waitFor(() => expect(page.textContent).toContain('No longer known'))
  expect(page.querySelector('[data-testid=why-nearest]')).toBeNull()
  expect(document.activeElement).toBe(page.querySelector('[data-testid=why]'))
  at = '2026-11-23T05:30:00Z'
  instance.$forceUpdate()
  await nextTick()
  expect(why.mock.calls.map(([, moment]) => moment)).toEqual([GAP.moment, GAP.after, at])
  app.unmount()
})
