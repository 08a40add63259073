import { describe, expect, it } from 'vitest'

import {
  HoraeError,
  isCancelled,
  isFailed,
  isFinished,
  isPending,
  isStarted,
  isUnfinished,
  labelOf,
  labelTextOf,
  messagesFor,
  shownError,
  stateOf,
} from '../src'
import { jobOf } from './fakes'

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

describe('the texts of a language', () => {
  it('are English where they are missing', () => {
    expect(messagesFor('de-AT').percent(40)).toBe('40\u00a0%')
    const more = { fr: { progress: 'Avancement' }, de: { cancel: 'Stopp' } }
    expect(messagesFor('fr-CA', more)).toEqual({ ...messagesFor('en'), progress: 'Avancement' })
    expect(messagesFor('de', more)).toEqual({ ...messagesFor('de'), cancel: 'Stopp' })
    expect(messagesFor('xx')).toEqual(messagesFor('en'))
  })
})

describe('the state and the label of a job', () => {
  it('are apart', () => {
    const job = jobOf(1, 'importing-table')
    expect([stateOf(job), labelOf(job), labelTextOf(job)]).toEqual([
      'started',
      'importing-table',
      'Importing table',
    ])
    expect([labelOf(jobOf(1, 'failed')), labelTextOf(jobOf(1, 'started'))]).toEqual([null, ''])
  })

  it('have predicates', () => {
    const names = (state: string): string[] =>
      Object.entries({ isPending, isStarted, isUnfinished, isFinished, isFailed, isCancelled })
        .filter(([, holds]) => holds(jobOf(1, state)))
        .map(([name]) => name)
    expect(names('pending')).toEqual(['isPending', 'isUnfinished'])
    expect(names('copying')).toEqual(['isStarted', 'isUnfinished'])
    expect(names('finished')).toEqual(['isFinished'])
    expect(names('failed')).toEqual(['isFailed'])
    expect(names('cancelled')).toEqual(['isCancelled'])
  })
})
