import { describe, expect, it } from 'vitest'

import { EventParser } from '../../src/events/parser'

const TEXT = [
  ': a comment\r\n',
  'retry: 1500\r\n',
  'event: job\nid: 7\ndata: {"id":\ndata: 5}\n\n',
  'data:without a space\r\r',
  'data\n\n',
  'event: without data\n\n',
  'data: ünïcode\r\n\r\n',
].join('')

const EXPECTED = [
  { type: 'job', data: '{"id":\n5}', id: '7' },
  { type: 'message', data: 'without a space', id: '7' },
  { type: 'message', data: '', id: '7' },
  { type: 'message', data: 'ünïcode', id: '7' },
]

describe('the parser of event streams', () => {
  it.each([1, 2, 3, 5, 7, 11, 1000])(
    'parses a stream that arrives in chunks of %i characters',
    (size) => {
      const parser = new EventParser()
      const events = []
      for (let start = 0; start < TEXT.length; start += size) {
        events.push(...parser.push(TEXT.slice(start, start + size)))
      }
      expect(events).toEqual(EXPECTED)
      expect(parser.retry).toBe(1500)
    },
  )

  it('returns an event only when it is complete', () => {
    const parser = new EventParser()
    expect(parser.push('data: half')).toEqual([])
    expect(parser.push('\n')).toEqual([])
    expect(parser.push('\n')).toHaveLength(1)
  })

  it('ignores an id with a null character and a retry that is not a number', () => {
    const parser = new EventParser()
    expect(parser.push('id: a\0b\nretry: soon\ndata: x\n\n')[0]?.id).toBeNull()
    expect(parser.retry).toBeNull()
  })
})
