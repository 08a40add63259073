import { describe, expect, it } from 'vitest'

import { limitNumbersOf } from '@/views/operations/keyLimits'

describe('the input of a limit by key', () => {
  it('is a rate, with a burst if one is entered', () => {
    expect(limitNumbersOf('rate', ' 10/s ', '')).toEqual({ rate: '10/s' })
    expect(limitNumbersOf('rate', '5/30s', '20')).toEqual({ rate: '5/30s', burst: 20 })
  })

  it('is a number of jobs at a time', () => {
    expect(limitNumbersOf('concurrency', '3', 'ignored')).toEqual({ concurrency: 3 })
  })

  it.each([
    ['rate', '0/s', ''],
    ['rate', 'fast', ''],
    ['rate', '10/s', '0'],
    ['concurrency', '0', ''],
    ['concurrency', '1.5', ''],
    ['concurrency', '', ''],
  ] as const)('is undefined for %s %j with burst %j', (kind, input, burst) => {
    expect(limitNumbersOf(kind, input, burst)).toBeUndefined()
  })
})
