import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { server } from '@/api/server'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const pass = (milliseconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds)

function press(type: string): void {
  document.body.dispatchEvent(new PointerEvent(type, { bubbles: true, isPrimary: true, button: 0 }))
}

function asked(): () => boolean {
  vi.spyOn(globalThis, 'fetch').mockImplementation(() => Promise.resolve(Response.json({})))
  let answered = false
  void server.me().then(() => (answered = true))
  return () => answered
}

it('shows no answer while a pointer is pressed, and the answer after its click', async () => {
  press('pointerdown')
  const answered = asked()
  await pass(1000)
  expect(answered()).toBe(false)
  press('pointerup')
  await pass(0)
  expect(answered()).toBe(false)
  await pass(100)
  expect(answered()).toBe(true)
})

it('waits no longer than for a few seconds, as for a release that no browser tells', async () => {
  press('pointerdown')
  const answered = asked()
  await pass(5000)
  expect(answered()).toBe(true)
})
