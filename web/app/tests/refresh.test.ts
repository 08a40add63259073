import { HoraeError } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, shallowRef, type EffectScope } from 'vue'

import { isAnonymous } from '@/api/server'
import { readChoice } from '@/refresh/preference'
import { useResource, type Resource, type ResourceOptions } from '@/refresh/useResource'

let scope: EffectScope
let hidden = false

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope(true)
  hidden = false
  vi.spyOn(document, 'hidden', 'get').mockImplementation(() => hidden)
  isAnonymous.value = false
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

function see(visible: boolean): void {
  hidden = !visible
  document.dispatchEvent(new Event('visibilitychange'))
}

const pass = (milliseconds: number): Promise<unknown> => vi.advanceTimersByTimeAsync(milliseconds)

function resource<Value>(
  read: (signal: AbortSignal) => Promise<Value>,
  options: ResourceOptions = { seconds: shallowRef(5) },
): Resource<Value> {
  return scope.run(() => useResource(read, options))!
}

describe('something that is looked at again', () => {
  it('is read at once and then every few seconds', async () => {
    const read = vi.fn(() => Promise.resolve(read.mock.calls.length))
    const { data } = resource(read)
    await pass(0)
    expect(data.value).toBe(1)
    await pass(10_000)
    expect(data.value).toBe(3)
  })

  it('rests in a hidden tab, and is read when somebody comes back', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read)
    await pass(0)
    see(false)
    await pass(600_000)
    expect(read).toHaveBeenCalledTimes(1)
    see(true)
    await pass(0)
    expect(read).toHaveBeenCalledTimes(2)
    await pass(5000)
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('is read only when asked if the user wants it so', async () => {
    const seconds = shallowRef(0)
    const read = vi.fn(() => Promise.resolve(1))
    const { refresh } = resource(read, { seconds })
    await pass(600_000)
    expect(read).toHaveBeenCalledTimes(1)
    refresh()
    await pass(0)
    expect(read).toHaveBeenCalledTimes(2)
    seconds.value = 2
    await pass(2000)
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('rests when there is nothing left to look for', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read, { seconds: shallowRef(5), rest: () => true })
    await pass(600_000)
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('keeps what was seen when it cannot be read, and tries ever more rarely', async () => {
    let broken = false
    const read = vi.fn(() => (broken ? Promise.reject(new Error('down')) : Promise.resolve('seen')))
    const { data, error } = resource(read)
    await pass(0)
    broken = true
    await pass(5000)
    expect([data.value, error.value]).toEqual(['seen', new Error('down')])
    const before = read.mock.calls.length
    await pass(10_000 + 20_000 + 30_000)
    expect(read).toHaveBeenCalledTimes(before + 3)
    broken = false
    await pass(30_000)
    expect(error.value).toBeNull()
  })

  it('waits while nobody is logged in', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read)
    await pass(0)
    isAnonymous.value = true
    await pass(60_000)
    expect(read).toHaveBeenCalledTimes(1)
    isAnonymous.value = false
    await pass(0)
    expect(read).toHaveBeenCalledTimes(2)
  })

  it('begins anew with another subject, and takes no answer for the one before', async () => {
    const subject = shallowRef(1)
    const answers = new Map<number, (text: string) => void>()
    const { data } = resource(
      () => {
        const asked = subject.value
        return new Promise<string>((resolve) => answers.set(asked, resolve))
      },
      { subject, seconds: shallowRef(5) },
    )
    await pass(0)
    subject.value = 2
    await pass(0)
    answers.get(1)?.('one')
    await pass(0)
    expect(data.value).toBeNull()
    answers.get(2)?.('two')
    await pass(0)
    expect(data.value).toBe('two')
  })

  it('is not available where the server has no such thing', async () => {
    const { unavailable } = resource(() =>
      Promise.reject(new HoraeError(404, 'ERROR_NOT_FOUND', 'no')),
    )
    await pass(0)
    expect(unavailable.value).toBe(true)
  })

  it('is left alone once nobody shows it', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read)
    await pass(0)
    scope.stop()
    await pass(60_000)
    expect(read).toHaveBeenCalledTimes(1)
  })
})

it('a choice that is none is the default', () => {
  expect([readChoice('15'), readChoice('0'), readChoice(null), readChoice('7')]).toEqual([
    15, 0, 5, 5,
  ])
})
