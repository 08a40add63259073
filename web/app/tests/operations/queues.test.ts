import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp, h, nextTick, type App } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'

import type { Queue } from '@/api/model'
import { server } from '@/api/server'
import { useSession } from '@/session/session'
import QueuesPage from '@/views/queues/QueuesPage.vue'
import { isChanged, parseLimit } from '@/views/queues/limits'

const QUEUE: Queue = {
  name: 'export',
  paused: false,
  paused_on: null,
  note: null,
  concurrency_limit: 3,
  fair_by: null,
  backend: 'horae',
  limits: null,
  declared: null,
  pending: 5,
  due: 5,
  started: 2,
  oldest_seconds: 4,
}
const STAFF = {
  id: 'eve',
  roles: ['staff'],
  sees_all: true,
  sees_values: true,
  changes_all: true,
  changes_own: true,
}

let app: App | null = null

async function shown(me: typeof STAFF, ...queues: Queue[]): Promise<HTMLElement> {
  const pinia = createPinia()
  setActivePinia(pinia)
  vi.spyOn(server, 'me').mockResolvedValue(me)
  vi.spyOn(server, 'queues').mockResolvedValue(queues)
  await useSession().load()
  const place = document.body.appendChild(document.createElement('div'))
  vi.spyOn(server, 'queueHistory').mockResolvedValue({
    start: '2030-01-01T00:00:00Z',
    until: '2030-01-01T00:00:00Z',
    step_seconds: 60,
    complete: true,
    queues: [],
  })
  app = createApp(QueuesPage)
  app.use(pinia)
  app.use(
    createRouter({
      history: createMemoryHistory(),
      routes: ['/', '/queues/:name', '/limits'].map((path) => ({
        path,
        ...(path !== '/' && { name: path === '/limits' ? 'limits' : 'queue' }),
        component: { render: () => h('p') },
      })),
    }),
  )
  app.mount(place)
  await vi.waitFor(() => expect(place.querySelector('[data-testid=queues]')).not.toBeNull())
  return place
}

function row(place: HTMLElement, name: string): HTMLElement {
  const found = place.querySelector<HTMLElement>(`[data-testid=queue-${name}]`)
  if (found === null) throw new Error(`no row of ${name}`)
  return found
}

function button(place: ParentNode, text: string): HTMLButtonElement | undefined {
  return [...place.querySelectorAll('button')].find((each) => each.textContent.trim() === text)
}

async function type(place: HTMLElement, text: string): Promise<void> {
  const field = place.querySelector<HTMLInputElement>('dialog input')
  if (field === null) throw new Error('nothing to type into')
  field.value = text
  field.dispatchEvent(new Event('input'))
  await nextTick()
}

beforeEach(() => {
  document.body.replaceChildren()
})
afterEach(() => {
  app?.unmount()
  vi.restoreAllMocks()
})

describe('the queues', () => {
  it('show the number of running jobs and the limit', async () => {
    const place = await shown(STAFF, QUEUE, { ...QUEUE, name: 'mail', concurrency_limit: null })
    const running = (name: string) =>
      row(place, name).querySelector('[data-label=Running]')?.textContent
    expect([running('export'), running('mail')]).toEqual(['2 of 3', '2'])
  })

  it('are limited by staff', async () => {
    const place = await shown(STAFF, QUEUE)
    const limit = vi.spyOn(server, 'limitQueue').mockResolvedValue(QUEUE)
    button(row(place, 'export'), 'Limit')?.click()
    await nextTick()
    await nextTick()
    expect(place.querySelector<HTMLInputElement>('dialog input')?.value).toBe('3')
    await type(place, '0')
    expect(button(place, 'Set')?.disabled).toBe(true)
    await type(place, '7')
    place.querySelector('dialog form')?.dispatchEvent(new Event('submit', { cancelable: true }))
    await vi.waitFor(() => expect(limit).toHaveBeenCalledWith('export', 7))
    await vi.waitFor(() => expect(server.queues).toHaveBeenCalledTimes(2))
  })

  it('are reset by staff where they differ from what the code declares', async () => {
    const declared = { concurrency_limit: 3, module: 'shop' }
    const same = { ...QUEUE, name: 'same', declared }
    const place = await shown(STAFF, { ...QUEUE, declared, fair_by: 'owner' }, same)
    const reset = vi.spyOn(server, 'resetQueue').mockResolvedValue(same)
    expect(row(place, 'export').textContent).toContain('changed')
    expect(button(row(place, 'same'), 'Reset')).toBeUndefined()
    button(row(place, 'export'), 'Reset')?.click()
    await vi.waitFor(() => expect(reset).toHaveBeenCalledWith('export'))
    await vi.waitFor(() => expect(server.queues).toHaveBeenCalledTimes(2))
  })

  it('cannot be limited by read-only users', async () => {
    const place = await shown({ ...STAFF, roles: ['read_only'], changes_all: false }, QUEUE)
    expect(button(row(place, 'export'), 'Limit')).toBeUndefined()
  })
})

describe('a queue', () => {
  const limits = { 'mail.rate': { key: '{to}', numbers: { amount: 1, period: 2 } } }

  it.each([
    [{}, false],
    [{ concurrency_limit: 4 }, true],
    [{ fair_by: 'owner' }, true],
    [{ limits: null }, true],
    [{ limits: { 'mail.rate': { numbers: { period: 2, amount: 1 }, key: '{to}' } } }, false],
  ])('with %j differs from its declaration: %s', (change, changed) => {
    const queue = { ...QUEUE, limits, declared: { concurrency_limit: 3, limits }, ...change }
    expect(isChanged(queue)).toBe(changed)
    expect(isChanged({ ...queue, declared: null })).toBe(false)
  })
})

describe('the input of a limit', () => {
  it.each([
    ['3', 3],
    [' 12 ', 12],
    ['', null],
    ['2147483647', 2147483647],
    ['0', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['many', undefined],
    ['2147483648', undefined],
  ])('%j is parsed as %j', (typed, limit) => {
    expect(parseLimit(typed)).toBe(limit)
  })
})
