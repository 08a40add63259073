import { describe, expect, it } from 'vitest'

import { durationText, secondsBetween } from '@/format/duration'
import { jsonTokens } from '@/format/json'
import { agoText, momentText } from '@/format/moment'
import { countText, plural } from '@/format/number'

describe('a duration', () => {
  it.each([
    [0, '0 ms'],
    [0.0041, '4 ms'],
    [0.9996, '1.0 s'],
    [1.44, '1.4 s'],
    [9.96, '10 s'],
    [59.6, '1 min'],
    [125, '2 min 5 s'],
    [3600, '1 h'],
    [86_400 * 3 + 3600 * 4 + 59, '3 d 4 h'],
    [-125, '−2 min 5 s'],
    [null, '–'],
    [Number.NaN, '–'],
  ])('of %s seconds is formatted as %s', (seconds, text) => {
    expect(durationText(seconds)).toBe(text)
  })

  it('is known only between two known times', () => {
    expect(secondsBetween('2030-01-01T00:00:00Z', '2030-01-01T00:01:00+00:00')).toBe(60)
    expect(secondsBetween('2030-01-01T00:00:00Z', null)).toBeNull()
    expect(secondsBetween(null, '2030-01-01T00:00:00Z')).toBeNull()
  })
})

describe('a timestamp', () => {
  const now = Date.parse('2030-01-01T12:00:00Z')

  it.each([
    ['2030-01-01T12:00:01Z', 'just now'],
    ['2030-01-01T11:59:52Z', '8 s ago'],
    ['2030-01-01T11:56:40Z', '3 min ago'],
    ['2030-01-01T14:05:00Z', 'in 2 h 5 min'],
    [null, '–'],
  ])('%s is formatted as %s', (moment, text) => {
    expect(agoText(moment, now)).toBe(text)
  })

  it('is shown in a given time zone', () => {
    expect(momentText('2030-07-01T01:00:00Z', 'Europe/Berlin')).toMatch(/3:00:00/)
  })
})

describe('counts', () => {
  it('are compact when they are large', () => {
    expect(countText(99_999)).toBe('99,999')
    expect(countText(1_234_567)).toBe('1.2M')
    expect(countText(null)).toBe('–')
  })

  it('have a singular and a plural', () => {
    expect([plural(1, 'job'), plural(0, 'job'), plural(2, 'entry', 'entries')]).toEqual([
      '1 job',
      '0 jobs',
      '2 entries',
    ])
  })
})

describe('highlighted JSON', () => {
  it('is the same text, whatever its content', () => {
    const text = JSON.stringify(
      { 'a "b": c': [1, -2.5e9, true, null, 'x: "y"\n'], '': {} },
      null,
      2,
    )
    expect(
      jsonTokens(text)
        .map((token) => token.text)
        .join(''),
    ).toBe(text)
  })

  it('distinguishes keys from strings', () => {
    const kinds = jsonTokens('{"a": "b", "c": 12}').map((token) => token.kind)
    expect(kinds.filter((kind) => kind !== 'plain')).toEqual(['key', 'text', 'key', 'word'])
  })
})
