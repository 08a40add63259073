import { describe, expect, it } from 'vitest'

import { EventParser, type ServerSentEvent } from '../../src/events/parser'

/*
 * The cases of the public tests of the standard for EventSource (web-platform-tests, eventsource/format-*.any.js), written
 * anew for a parser. Each stream arrives as bytes, whole and byte by byte, as the feed of the client decodes them.
 */

interface Case {
  readonly name: string
  readonly stream: string
  /** The data of the events, or their types with it. */
  readonly events: readonly string[]
  readonly ids?: readonly (string | null)[]
  readonly retry?: number | null
}

const LONG = 'x'.repeat(2048)

const CASES: readonly Case[] = [
  { name: 'bom', stream: '\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n', events: ['1', '3'] },
  { name: 'bom-2', stream: '\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3\n\n', events: ['2', '3'] },
  {
    name: 'comments',
    stream: `data:1\n:\0\n:\r\ndata:2\n:${LONG}\rdata:3\n:data:fail\r:${LONG}\ndata:4\n\n`,
    events: ['1\n2\n3\n4'],
  },
  {
    name: 'data-before-final-empty-line',
    stream: 'retry:1000\ndata:test1\n\nid:test\ndata:test2',
    events: ['test1'],
    ids: [null],
    retry: 1000,
  },
  {
    name: 'field-data',
    stream: 'data:\n\ndata\ndata\n\ndata:test\n\n',
    events: ['', '\n', 'test'],
  },
  {
    name: 'field-event',
    stream: 'event:test\ndata:x\n\ndata:x\n\n',
    events: ['test: x', 'x'],
  },
  { name: 'field-event-empty', stream: 'event: \ndata:data\n\n', events: ['data'] },
  { name: 'field-id', stream: 'id: …\ndata:x\n\n', events: ['x'], ids: ['…'] },
  {
    name: 'field-id-2: an empty id forgets the last one',
    stream: 'id: 1\ndata:a\n\ndata:b\n\nid\ndata:c\n\n',
    events: ['a', 'b', 'c'],
    ids: ['1', '1', ''],
  },
  {
    name: 'field-id-3: an id without data counts for later events',
    stream: 'id: 2\n\ndata:x\n\n',
    events: ['x'],
    ids: ['2'],
  },
  {
    name: 'field-id-null',
    stream: 'id: 1\ndata:a\n\nid: 2\0\ndata:b\n\nid: \0 3\ndata:c\n\n',
    events: ['a', 'b', 'c'],
    ids: ['1', '1', '1'],
  },
  {
    name: 'field-parsing',
    stream:
      'data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n',
    events: ['\0\n 2\n1\n3\n\n4'],
  },
  { name: 'field-retry', stream: 'retry:03000\ndata:x\n\n', events: ['x'], retry: 3000 },
  {
    name: 'field-retry-bogus',
    stream: 'retry:3000\nretry:1000x\nretry:-1\nretry:1.5\nretry:١٢\ndata:x\n\n',
    events: ['x'],
    retry: 3000,
  },
  { name: 'field-retry-empty', stream: 'retry\ndata:test\n\n', events: ['test'], retry: null },
  {
    name: 'field-unknown',
    stream: 'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n',
    events: ['test\n\ntest'],
  },
  {
    name: 'leading-space',
    stream: 'data:\ttest\rdata: \ndata:test\n\n',
    events: ['\ttest\n\ntest'],
  },
  {
    name: 'newlines: a carriage return alone ends the last line',
    stream: 'data:test\r\ndata\ndata:test\r\n\r',
    events: ['test\n\ntest'],
  },
  { name: 'null-character', stream: 'data:\0\n\n\n\n', events: ['\0'] },
  { name: 'utf-8', stream: 'data:ok…\n\n', events: ['ok…'] },
]

function parsed(stream: string, size: number): { events: ServerSentEvent[]; parser: EventParser } {
  const bytes = new TextEncoder().encode(stream)
  const decoder = new TextDecoder()
  const parser = new EventParser()
  const events: ServerSentEvent[] = []
  for (let start = 0; start < bytes.length; start += size) {
    const chunk = bytes.subarray(start, start + size)
    events.push(...parser.push(decoder.decode(chunk, { stream: true })))
  }
  return { events, parser }
}

describe.each([1, 2, 3, 10_000])('in chunks of %i bytes', (size) => {
  it.each(CASES)('format-$name', ({ stream, events, ids, retry }) => {
    const found = parsed(stream, size)
    const shown = found.events.map(({ type, data }) =>
      type === 'message' ? data : `${type}: ${data}`,
    )
    expect(shown).toEqual(events)
    if (ids !== undefined) expect(found.events.map(({ id }) => id)).toEqual(ids)
    if (retry !== undefined) expect(found.parser.retry).toBe(retry)
  })
})
