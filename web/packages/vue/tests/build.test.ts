// @vitest-environment node
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { InstalledPackages } from '../../client/tests/installed'

/** Bytes of the bundle of a page that imports one constant. */
const LARGEST_CONSTANT = 1000

let application: InstalledPackages

beforeAll(async () => {
  application = await InstalledPackages.create(
    ['client', 'vue'],
    ['vue', 'pinia', '@vue', '@pinia'],
  )
}, 60_000)

afterAll(() => application.remove())

describe('the built package', () => {
  it('adds one constant to a page that imports one constant', async () => {
    const code = await application.bundled(
      "import { ERROR_JOB_NOT_CANCELLABLE } from '@horae/vue'\nexport const code = ERROR_JOB_NOT_CANCELLABLE\n",
    )
    expect(code).toContain('ERROR_JOB_NOT_CANCELLABLE')
    expect(code.length).toBeLessThanOrEqual(LARGEST_CONSTANT)
    const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')
    expect(readme).toContain(`at most ${LARGEST_CONSTANT.toLocaleString('en')} bytes`)
  })

  it('has a client without Vue', async () => {
    const code = await application.bundled(
      "export { createClient, followJob } from '@horae/client'\n",
    )
    expect(code).not.toMatch(/__v_isRef|shallowRef|pinia/)
    expect(code.length).toBeLessThan(20_000)
  })

  it('is imported and rendered on a server, where it requests nothing', async () => {
    const { render } = (await application.imported(SERVER_PAGE)) as {
      render: () => Promise<{ html: string; requests: number }>
    }
    const { html, requests } = await render()
    expect(html).toContain('role="progressbar"')
    expect(html).toContain('40%')
    expect(requests).toBe(0)
  })
})

const SERVER_PAGE = `
import { createHorae, ProgressBar, ProgressCircle, useJob, useJobEnds, useJobStore } from '@horae/vue'
import { createPinia } from 'pinia'
import { createSSRApp, h } from 'vue'
import { renderToString } from 'vue/server-renderer'

export async function render() {
  let requests = 0
  const fetch = () => { requests += 1; return Promise.reject(new Error('no network')) }
  const app = createSSRApp({
    setup() {
      useJobEnds('import_csv', {})
      const { job } = useJob(7)
      void useJobStore().load()
      return () => [h(ProgressBar, { value: 40 }), h(ProgressCircle, { value: 40 }), String(job.value)]
    },
  })
  app.use(createPinia()).use(createHorae({ fetch }))
  const html = await renderToString(app)
  await new Promise((resolve) => setTimeout(resolve, 300))
  return { html, requests }
}
`
