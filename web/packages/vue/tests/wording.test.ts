import { describe, expect, it } from 'vitest'

import { HoraeError, messagesFor, shownError } from '../src'

const text = (status: number, code: string, detail: unknown): string =>
  shownError(new HoraeError(status, code, detail), messagesFor('en')).message

describe('the text of an error', () => {
  it('is the message of the server, as a sentence', () => {
    expect(text(400, 'ERROR_X', 'job 7 has not ended')).toBe('job 7 has not ended.')
    expect(text(400, 'ERROR_X', 'Why not?')).toBe('Why not?')
  })

  it('names each field of an invalid request body', () => {
    const detail = {
      note: [{ error: 'is too long', code: 'too_long' }],
      rows: [{ error: 'is no number' }],
    }
    expect(text(400, 'ERROR_REQUEST_BODY_VALIDATION', detail)).toBe(
      'note: is too long; rows: is no number.',
    )
  })

  it('contains an error code only if there is nothing else', () => {
    expect(text(502, 'ERROR_HTTP_502', '')).toBe('the server answered with 502 (ERROR_HTTP_502).')
  })
})
