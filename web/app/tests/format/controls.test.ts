import { describe, expect, it } from 'vitest'

import { escapedControls } from '@/format/controls'

describe('control characters in a text', () => {
  it('are shown as escapes', () => {
    expect(escapedControls('a\u202eb\u2066c\u200f')).toBe('a\\u202eb\\u2066c\\u200f')
    expect(escapedControls('\u001b[31m\r\u0007\u0085\u2028')).toBe(
      '\\x1b[31m\\x0d\\x07\\x85\\u2028',
    )
  })

  it('do not include line breaks, tabs, or letters of any script', () => {
    const text = 'one\n\ttwo שלום مرحبا 👩\u200d👧'
    expect(escapedControls(text)).toBe(text)
  })
})
