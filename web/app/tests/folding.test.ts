import { describe, expect, it } from 'vitest'

import { beginningOf, jsonTokens, SHOWN_AT_FIRST } from '@/format/json'

describe('a long text of JSON', () => {
  const text = JSON.stringify({ rows: Array.from({ length: 50_000 }, (_, row) => row) }, null, 2)

  it('is shown from its beginning, cut where a line ends', () => {
    const beginning = beginningOf(text)
    expect(beginning.length).toBeLessThanOrEqual(SHOWN_AT_FIRST)
    expect(text.startsWith(`${beginning}\n`)).toBe(true)
    expect(jsonTokens(beginning).length).toBeLessThan(1000)
  })

  it('is cut also where it is one line, and a short one is whole', () => {
    expect(beginningOf('x'.repeat(9000))).toHaveLength(SHOWN_AT_FIRST)
    expect(beginningOf('{}')).toBe('{}')
  })
})
