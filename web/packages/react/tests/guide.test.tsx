import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { type ComponentType } from 'react'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'

import { FakeServer, jobOf } from '../../client/tests/fakes'
import { acted, after, Page } from './render'

const GUIDE = join(import.meta.dirname, '../../../../docs/guides/react.md')
const BUILT = join(import.meta.dirname, '../dist')

/** The files of the guide, in a folder of this package, so that they find React. */
let folder: string
let App: ComponentType

beforeAll(async () => {
  await mkdir(BUILT, { recursive: true })
  folder = await mkdtemp(join(BUILT, 'guide-'))
  const text = await readFile(GUIDE, 'utf8')
  for (const [, name, code] of text.matchAll(/^```tsx\n\/\/ src\/(\w+\.tsx)\n(.*?)^```/gms)) {
    await writeFile(join(folder, name!), code!)
  }
  const module = (await import(/* @vite-ignore */ join(folder, 'App.tsx'))) as {
    App: ComponentType
  }
  App = module.App
})

afterAll(() => rm(folder, { recursive: true }))

let server: FakeServer
let page: Page

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  page = new Page(server)
})

afterEach(async () => {
  await page.leave()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('starts, shows, cancels and reports jobs as the guide does', async () => {
  const alert = vi.fn()
  vi.stubGlobal('alert', alert)
  server.put(jobOf(1, 'started', { type: 'export_table', progress_percentage: 30 }))
  await page.show(<App />)
  await after(0)
  expect(page.element.querySelectorAll('.horae-circle')).toHaveLength(1)
  const button = (text: string) =>
    [...page.element.querySelectorAll('button')].find((each) => each.textContent === text)

  await acted(() => button('Export')?.click())
  await after(0)
  expect(page.element.querySelectorAll('.horae-circle')).toHaveLength(2)
  expect(page.element.querySelector('.horae-progress')?.textContent).toBe('0% · Waiting to start')
  expect(button('Export')?.disabled).toBe(true)
  await acted(() => button('Cancel')?.click())
  await after(0)
  expect(page.element.querySelector('.horae-progress')?.textContent).toBe('0% · Cancelled')

  server.put(jobOf(1, 'finished', { type: 'export_table', age: 1 }))
  await after(60_000)
  expect(alert).toHaveBeenCalledExactlyOnceWith('The export is ready.')
})
