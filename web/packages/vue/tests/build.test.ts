// @vitest-environment node
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { build, type InlineConfig } from 'vite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
/** Bytes of the bundle of a page that imports one constant. */
const LARGEST_CONSTANT = 1000

/** An application in a folder of its own, with the built package as npm would install it. */
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'horae-vue-'))
  const installed = join(folder, 'node_modules/@horae/vue')
  await build({
    configFile: join(PACKAGE, 'vite.config.ts'),
    root: PACKAGE,
    logLevel: 'error',
    build: { outDir: join(installed, 'dist') },
  })
  await cp(join(PACKAGE, 'package.json'), join(installed, 'package.json'))
  for (const name of ['vue', 'pinia', '@vue', '@pinia']) {
    const source = join(PACKAGE, '../../node_modules', name)
    await symlink(source, join(folder, 'node_modules', name))
  }
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
}, 60_000)

afterAll(() => rm(folder, { recursive: true }))

/** Bundle a module of the application, and return its code. */
async function bundled(source: string): Promise<string> {
  await writeFile(join(folder, 'page.js'), source)
  const config: InlineConfig = {
    configFile: false,
    root: folder,
    logLevel: 'error',
    build: {
      outDir: 'out',
      lib: { entry: 'page.js', formats: ['es'], fileName: 'page' },
      minify: true,
    },
  }
  await build(config)
  return readFile(join(folder, 'out/page.js'), 'utf8')
}

describe('the built package', () => {
  it('adds one constant to a page that imports one constant', async () => {
    const code = await bundled(
      "import { ERROR_JOB_NOT_CANCELLABLE } from '@horae/vue'\nexport const code = ERROR_JOB_NOT_CANCELLABLE\n",
    )
    expect(code).toContain('ERROR_JOB_NOT_CANCELLABLE')
    expect(code.length).toBeLessThanOrEqual(LARGEST_CONSTANT)
  })

  it('has a client without Vue', async () => {
    const code = await bundled("export { createClient, followJob } from '@horae/vue/client'\n")
    expect(code).not.toMatch(/__v_isRef|shallowRef|pinia/)
    expect(code.length).toBeLessThan(20_000)
  })

  it('is imported and rendered on a server, where it requests nothing', async () => {
    const page = join(folder, 'server.mjs')
    await writeFile(page, SERVER_PAGE)
    const { render } = (await import(/* @vite-ignore */ pathToFileURL(page).href)) as {
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
