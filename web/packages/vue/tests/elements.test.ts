import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { defineHoraeElements } from '../src/elements'
import { FakeServer, jobOf, pass } from '../../client/tests/fakes'

let server: FakeServer

beforeEach(() => {
  vi.useFakeTimers()
  server = new FakeServer()
  defineHoraeElements({ fetch: server.fetch })
})

afterEach(async () => {
  document.body.replaceChildren()
  await pass(0)
  vi.useRealTimers()
})

async function place(html: string): Promise<{ element: HTMLElement; root: ShadowRoot }> {
  document.body.innerHTML = html
  await pass(0)
  const element = document.body.querySelector<HTMLElement>('horae-job, horae-progress')!
  return { element, root: element.shadowRoot! }
}

describe('<horae-job>', () => {
  it('follows a job until it ends, and dispatches an event', async () => {
    server.put(jobOf(5, 'started', { progress_percentage: 20 }))
    const { element, root } = await place('<horae-job job-id="5" lang="de"></horae-job>')
    const listener = vi.fn<(event: Event) => void>()
    document.body.addEventListener('horae-finished', listener, { once: true })
    await pass(200)
    expect(root.textContent).toContain('20\u00a0% · Läuft')
    expect(root.querySelector('button')?.textContent.trim()).toBe('Abbrechen')
    server.put(jobOf(5, 'finished', { age: 1, progress_percentage: 100 }))
    await pass(5000)
    expect(root.textContent).toContain('100\u00a0% · Fertig')
    expect(root.querySelector('button')).toBeNull()
    expect(listener).toHaveBeenCalledOnce()
    expect((listener.mock.calls[0]?.[0] as CustomEvent<{ id: number }>).detail.id).toBe(5)
    expect(element.isConnected).toBe(true)
  })

  it('sends requests to the server of its base-url', async () => {
    server.put(jobOf(5, 'started'))
    await place('<horae-job job-id="5" base-url="http://elsewhere.test/horae"></horae-job>')
    await pass(200)
    const urls = server.fetch.mock.calls.map(([url]) => url as string)
    expect(urls.every((url) => url.startsWith('http://elsewhere.test/horae/api/'))).toBe(true)
    expect(urls.length).toBeGreaterThan(1)
  })

  it('cancels', async () => {
    server.put(jobOf(5, 'started'))
    const { root } = await place('<horae-job job-id="5"></horae-job>')
    await pass(200)
    root.querySelector('button')?.click()
    await pass(0)
    expect(root.textContent).toContain('Cancelled')
  })

  it('shows why a job failed, and no button when it is read-only', async () => {
    server.put(jobOf(5, 'started'), jobOf(6, 'failed', { human_readable_error: 'No such table.' }))
    const readOnly = await place('<horae-job job-id="5" read-only></horae-job>')
    await pass(200)
    expect(readOnly.root.querySelector('button')).toBeNull()
    const failed = await place('<horae-job job-id="6"></horae-job>')
    await pass(200)
    expect(failed.root.querySelector('[role=alert]')?.textContent).toBe('No such table.')
  })

  it('has a name, and the failed colour only when it has failed', async () => {
    server.put(jobOf(5, 'started'), jobOf(6, 'failed'), jobOf(7, 'cancelled'))
    const html = '<horae-job job-id="ID" name="Import of people.csv"></horae-job>'
    for (const [id, failed] of [
      ['5', false],
      ['6', true],
      ['7', false],
    ] as const) {
      const { root } = await place(html.replace('ID', id))
      await pass(200)
      expect(root.querySelector('[part=name]')?.textContent).toBe('Import of people.csv')
      const bar = root.querySelector('[role=progressbar]')
      expect(bar?.getAttribute('aria-label')).toBe('Import of people.csv')
      expect(root.querySelector('.horae-progress__bar--failed') !== null).toBe(failed)
    }
  })

  it('stops polling when it is removed from the page', async () => {
    server.put(jobOf(5, 'started'))
    await place('<horae-job job-id="5"></horae-job>')
    await pass(200)
    document.body.replaceChildren()
    await pass(0)
    const before = server.requests.length
    await pass(60_000)
    expect(server.requests).toHaveLength(before)
  })

  it('has styles without a style element, which a content security policy may forbid', async () => {
    const { root } = await place('<horae-job job-id="5"></horae-job>')
    expect(root.querySelector('style')).toBeNull()
    expect(root.adoptedStyleSheets).toHaveLength(2)
  })
})

describe('<horae-progress>', () => {
  it('is the progress bar', async () => {
    const { root } = await place(
      '<horae-progress value="120" status="Full" show-overflow></horae-progress>',
    )
    expect(root.textContent).toBe('120% · Full')
    expect(root.querySelector('.horae-progress__bar--over')).not.toBeNull()
  })

  it('has a name and a failed colour', async () => {
    const { root } = await place('<horae-progress value="40" name="Copy" failed></horae-progress>')
    expect(root.querySelector('[role=progressbar]')?.getAttribute('aria-label')).toBe('Copy')
    expect(root.querySelector('.horae-progress__bar--failed')).not.toBeNull()
  })

  it('can hide the percentage', async () => {
    const { root } = await place('<horae-progress value="12" show-value="false"></horae-progress>')
    expect(root.textContent).toBe('')
  })
})
