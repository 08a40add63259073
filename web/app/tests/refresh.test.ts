import { HoraeError } from '@horae/vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, shallowRef, type EffectScope } from 'vue'

import { isAnonymous } from '@/api/server'
import { parseRefreshChoice } from '@/refresh/interval'
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

function setVisible(visible: boolean): void {
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

describe('a resource', () => {
  it('is read immediately and then at the interval', async () => {
    const read = vi.fn(() => Promise.resolve(read.mock.calls.length))
    const { data } = resource(read)
    await pass(0)
    expect(data.value).toBe(1)
    await pass(10_000)
    expect(data.value).toBe(3)
  })

  it('is not read in a hidden tab, and is read when the tab is shown again', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read)
    await pass(0)
    setVisible(false)
    await pass(600_000)
    expect(read).toHaveBeenCalledTimes(1)
    setVisible(true)
    await pass(0)
    expect(read).toHaveBeenCalledTimes(2)
    await pass(5000)
    expect(read).toHaveBeenCalledTimes(3)
  })

  it('is read only on request if the user has chosen that', async () => {
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

  it('does not show the data of another key as those of one that cannot be read', async () => {
    const key = shallowRef('one')
    let fails = false
    const { data, error } = resource(
      () => (fails ? Promise.reject(new Error('lost')) : Promise.resolve(key.value)),
      { key, keepData: true, seconds: shallowRef(5) },
    )
    await pass(0)
    fails = true
    await pass(5000)
    expect([data.value, error.value]).toEqual(['one', new Error('lost')])
    key.value = 'two'
    await pass(0)
    expect([data.value, error.value]).toEqual([null, new Error('lost')])
    fails = false
    await pass(60_000)
    expect([data.value, error.value]).toEqual(['two', null])
  })

  it('is not read again when it is final', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read, { seconds: shallowRef(5), isFinal: () => true })
    await pass(600_000)
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('keeps its data after an error, and increases the interval', async () => {
    let broken = false
    const read = vi.fn(() => (broken ? Promise.reject(new Error('down')) : Promise.resolve('data')))
    const { data, error } = resource(read)
    await pass(0)
    broken = true
    await pass(5000)
    expect([data.value, error.value]).toEqual(['data', new Error('down')])
    const before = read.mock.calls.length
    await pass(10_000 + 20_000 + 30_000)
    expect(read).toHaveBeenCalledTimes(before + 3)
    broken = false
    await pass(30_000)
    expect(error.value).toBeNull()
  })

  it('is not read while authentication is required', async () => {
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

  it('is read again for a new key, and ignores the response for the previous one', async () => {
    const key = shallowRef(1)
    const answers = new Map<number, (text: string) => void>()
    const { data } = resource(
      () => {
        const asked = key.value
        return new Promise<string>((resolve) => answers.set(asked, resolve))
      },
      { key, seconds: shallowRef(5) },
    )
    await pass(0)
    key.value = 2
    await pass(0)
    answers.get(1)?.('one')
    await pass(0)
    expect(data.value).toBeNull()
    answers.get(2)?.('two')
    await pass(0)
    expect(data.value).toBe('two')
  })

  it('is not available if the server does not have it', async () => {
    const { unavailable } = resource(() =>
      Promise.reject(new HoraeError(404, 'ERROR_NOT_FOUND', 'no')),
    )
    await pass(0)
    expect(unavailable.value).toBe(true)
  })

  it('is not read after its scope ends', async () => {
    const read = vi.fn(() => Promise.resolve(1))
    resource(read)
    await pass(0)
    scope.stop()
    await pass(60_000)
    expect(read).toHaveBeenCalledTimes(1)
  })
})

it('an invalid stored interval is replaced by the default', () => {
  expect([
    parseRefreshChoice('15'),
    parseRefreshChoice('0'),
    parseRefreshChoice(null),
    parseRefreshChoice('7'),
  ]).toEqual([15, 0, 5, 5])
})
