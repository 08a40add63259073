import { describe, expect, it } from 'vitest'

import { previewOf, jsonText, jsonTokens, PREVIEW_LENGTH } from '@/format/json'

describe('a long text of JSON', () => {
  const text = JSON.stringify({ rows: Array.from({ length: 50_000 }, (_, row) => row) }, null, 2)

  it('has a preview that is cut at the end of a line', () => {
    const preview = previewOf(text)
    expect(preview.length).toBeLessThanOrEqual(PREVIEW_LENGTH)
    expect(text.startsWith(`${preview}\n`)).toBe(true)
    expect(jsonTokens(preview).length).toBeLessThan(1000)
  })

  it('has a preview even if it is one line, and the preview of a short text is the text', () => {
    expect(previewOf('x'.repeat(9000))).toHaveLength(PREVIEW_LENGTH)
    expect(previewOf('{}')).toBe('{}')
  })
})

describe('a value as JSON', () => {
  it('has no character that reorders the text, and is still the same value', () => {
    const value = { name: '\u202eevil\u2028', bytes: '\u001b\u009b', lines: ['a\nb'] }
    expect(jsonText(value)).toContain('\\u202eevil\\u2028')
    expect(jsonText(value)).toContain('\\u001b\\u009b')
    expect(JSON.parse(jsonText(value))).toEqual(value)
  })
})
