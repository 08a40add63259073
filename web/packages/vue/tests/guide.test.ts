import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { createPinia } from 'pinia'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { createApp, onMounted, type App, type Component, type Plugin } from 'vue'

import { FakeServer, jobOf, pass } from '../../client/tests/fakes'
import { mount } from './mount'

const README = join(import.meta.dirname, '../README.md')
const NUXT = join(import.meta.dirname, '../../../../docs/guides/nuxt.md')
const BUILT = join(import.meta.dirname, '../dist')

/** The code of the pages, in a folder of this package, so that it finds Vue. */
let folder: string

beforeAll(async () => {
  await mkdir(BUILT, { recursive: true })
  folder = await mkdtemp(join(BUILT, 'guide-'))
})

afterAll(() => rm(folder, { recursive: true }))

let server: FakeServer
let alert: ReturnType<typeof vi.fn>

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  alert = vi.fn()
  vi.stubGlobal('alert', alert)
})

afterEach(() => vi.useRealTimers())

/** Import the first block of code of a page that contains a text. */
async function pasted(page: string, kind: string, part: string, name: string): Promise<unknown> {
  const blocks = (await readFile(page, 'utf8')).matchAll(/^```(\w+)\n(.*?)^```/gms)
  const code = [...blocks].find(([, of, text]) => of === kind && text?.includes(part))?.[2] ?? ''
  const template =
    kind === 'vue' && !code.includes('<template>') ? '<template><p /></template>' : ''
  await writeFile(join(folder, name), code + template)
  const module = (await import(/* @vite-ignore */ join(folder, name))) as { default?: unknown }
  return module.default
}

it('starts, shows and cancels a job as the README does', async () => {
  const component = (await pasted(README, 'vue', 'duplicate_table', 'First.vue')) as Component
  const { element, unmount } = mount(component, { client: server.client() })
  const button = (text: string) =>
    [...element.querySelectorAll('button')].find((each) => each.textContent.trim() === text)

  button('Duplicate')?.click()
  await pass(0)
  expect(element.querySelector('.horae-progress')?.textContent).toBe('0% · Waiting to start')
  expect(button('Duplicate')?.disabled).toBe(true)
  button('Cancel')?.click()
  await pass(0)
  expect(element.querySelector('.horae-progress')?.textContent).toBe('0% · Cancelled')
  unmount()
})

it('follows and reports jobs as the page about Nuxt does', async () => {
  const configured = vi.fn<(config: { routeRules: object }) => void>()
  vi.stubGlobal('defineNuxtConfig', configured)
  vi.stubGlobal('defineNuxtPlugin', (setup: unknown) => setup)
  vi.stubGlobal('onMounted', onMounted)
  vi.stubGlobal('fetch', (address: string, init?: RequestInit) =>
    server.fetch(address.replace(/^\/background/, ''), init),
  )
  await pasted(NUXT, 'ts', 'nuxt.config.ts', 'nuxt.config.ts')
  expect(Object.keys(configured.mock.calls[0]?.[0].routeRules ?? {})).toEqual(['/background/**'])
  const plugin = (await pasted(NUXT, 'ts', 'defineNuxtPlugin', 'plugin.ts')) as (nuxt: {
    vueApp: { use: (plugin: Plugin) => App }
  }) => void
  const page = (await pasted(NUXT, 'vue', 'useJobEnds', 'App.vue')) as Component

  server.put(jobOf(1, 'started', { type: 'export_table' }))
  const app = createApp(page).use(createPinia())
  plugin({ vueApp: app })
  app.mount(document.createElement('div'))
  await pass(0)
  server.put(jobOf(1, 'finished', { type: 'export_table', age: 1 }))
  await pass(60_000)
  expect(alert).toHaveBeenCalledExactlyOnceWith('The export is ready.')
  app.unmount()
})
