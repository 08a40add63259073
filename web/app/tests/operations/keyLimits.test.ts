import { afterEach, describe, expect, it } from 'vitest'

import type { KeyLimit } from '@/api/model'
import { allowedText, inputOf, limitNumbersOf, type LimitInput } from '@/views/operations/keyLimits'
import { showIn } from '../language'

const RATE: LimitInput = { kind: 'rate', text: '10/s', burst: '', sliding: false }

describe('the input of a limit by key', () => {
  it('is a rate, with a burst if one is entered', () => {
    expect(limitNumbersOf({ ...RATE, text: ' 10/s ' })).toEqual({ rate: '10/s' })
    expect(limitNumbersOf({ ...RATE, burst: '20' })).toEqual({ rate: '10/s', burst: 20 })
  })

  it('is a rate in a sliding window, which has no burst', () => {
    const numbers = limitNumbersOf({ ...RATE, burst: 'ignored', sliding: true })
    expect(numbers).toEqual({ rate: '10/s', window: 'sliding' })
  })

  it('is a number of jobs at a time', () => {
    const input = { kind: 'concurrency', text: '3', burst: 'ignored', sliding: true } as const
    expect(limitNumbersOf(input)).toEqual({ concurrency: 3 })
  })

  it.each([
    ['rate', '0/s', ''],
    ['rate', 'fast', ''],
    ['rate', '10/s', '0'],
    ['concurrency', '0', ''],
    ['concurrency', '1.5', ''],
    ['concurrency', '', ''],
  ] as const)('is undefined for %s %j with burst %j', (kind, text, burst) => {
    expect(limitNumbersOf({ kind, text, burst, sliding: false })).toBeUndefined()
  })
})

describe('the input for the numbers in force', () => {
  it.each([
    [1_000_000, '10/s'],
    [30_000_000, '10/30s'],
    [5_400_000_000, '10/90m'],
    [86_400_000_000, '10/d'],
    [500_000, '10/500ms'],
    [1_000_001, '10/1000001us'],
  ])('has the period of %d microseconds as %s', (period, text) => {
    const input = inputOf({ amount: 10, period, burst: 10, window: 'bucket' })
    expect(input).toEqual({ ...RATE, text })
  })

  it('keeps a burst of its own, and a sliding window', () => {
    const rate = { amount: 10, period: 1_000_000 }
    expect(inputOf({ ...rate, burst: 1, window: 'bucket' })).toEqual({ ...RATE, burst: '1' })
    expect(inputOf({ ...rate, window: 'sliding' })).toEqual({ ...RATE, sliding: true })
  })

  it('is a number of jobs at a time, or empty', () => {
    expect(inputOf({ concurrency: 3 })).toMatchObject({ kind: 'concurrency', text: '3' })
    expect(inputOf(null)).toEqual({ ...RATE, text: '' })
  })
})

describe('the text of the numbers in force', () => {
  afterEach(() => showIn('en'))

  function textOf(declared: KeyLimit['declared'], changed: KeyLimit['changed'] = null): string {
    return allowedText({ allows: 'in words', declared, changed } as KeyLimit)
  }

  it('is in the language of the page', async () => {
    const rate = { amount: 10, period: 1_000_000, burst: 3, window: 'bucket' }
    expect(textOf(rate, { concurrency: 2 })).toBe('2 at a time')
    expect(textOf({ ...rate, on_reached: 'discard' })).toBe('10/s, burst 3, others are discarded')
    await showIn('de')
    expect(textOf({ concurrency: 2 })).toBe('2 gleichzeitig')
    expect(textOf({ amount: 5, period: 60_000_000, window: 'sliding' })).toBe(
      '5/m, gleitendes Fenster',
    )
  })
})
