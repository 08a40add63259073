import { HoraeError } from '@horae/vue'
import { describe, expect, it } from 'vitest'

import { problemOf } from '@/jobs/query/problem'
import { betweenText, rangeOf, withRange } from '@/jobs/query/ranges'
import { parseSaved, withSaved } from '@/jobs/query/saved'
import { suggestionsFor } from '@/jobs/query/suggestions'
import { statesOf, termsOf, valueText, withStates, withoutFields } from '@/jobs/query/terms'

describe('the terms of a query', () => {
  it('are found with their fields, operators and values', () => {
    const text = ' type:import* -owner:"Ann Lee" attempts>=3 invoice "timed out"'
    expect(
      termsOf(text).map(({ negated, field, operator, value }) => [negated, field, operator, value]),
    ).toEqual([
      [false, 'type', ':', 'import*'],
      [true, 'owner', ':', '"Ann Lee"'],
      [false, 'attempts', '>=', '3'],
      [false, null, '', 'invoice'],
      [false, null, '', '"timed out"'],
    ])
  })

  it.each(['"', 'a:"b c', '::', '-', '>', 'a"b"c', '\\', 'x'.repeat(5000)])(
    'are found in a text that the server refuses, too: %s',
    (text) => {
      const terms = termsOf(text)
      expect(terms.at(-1)?.end).toBe(text.length)
    },
  )

  it('are quoted where they would be read as something else', () => {
    expect(['mail', '4711', 'a b', 'a,b', 'true', '', 'x*'].map(valueText)).toEqual([
      'mail',
      '"4711"',
      '"a b"',
      '"a,b"',
      '"true"',
      '""',
      '"x*"',
    ])
  })
})

describe('the states of a query', () => {
  it('are read and replaced, and what else is written stays', () => {
    expect(statesOf('state:failed,pending -state:started tag:vip')).toEqual(['pending', 'failed'])
    expect(withStates('tag:vip  state:failed -state:started x', ['pending'])).toBe(
      'tag:vip -state:started x state:pending',
    )
    expect(withStates('state:failed', [])).toBe('')
    expect(withoutFields('"state:failed" state:failed', ['state'])).toBe('"state:failed"')
  })
})

describe('the range of a query', () => {
  it('is read and replaced', () => {
    expect(rangeOf('tag:a since:1h until:yesterday finished:today')).toBe(
      'since:1h until:yesterday',
    )
    expect(withRange('since:1h tag:a created:today', 'since:7d')).toBe('tag:a since:7d')
    expect(withRange('since:1h', '')).toBe('')
    expect(betweenText('2026-11-01T10:00', '')).toBe('since:2026-11-01T10:00')
  })
})

describe('suggestions', () => {
  const known = { type: ['import_csv', 'import people', 'mail'], owner: ['alice'] }
  const texts = (text: string, cursor = text.length, seesAll = true): string[] =>
    suggestionsFor(text, cursor, known, seesAll).map((each) => each.text)

  it('complete a field, and then its value', () => {
    expect(texts('sta')).toEqual(['state:'])
    expect(texts('-sta')).toEqual(['-state:'])
    expect(texts('state:fa')).toEqual(['state:failed '])
    expect(texts('state:failed,pen')).toEqual(['state:failed,pending '])
    expect(texts('type:imp')).toEqual(['type:import_csv ', 'type:"import people" '])
  })

  it('leave the rest of the query as it is', () => {
    const [first] = suggestionsFor('x state:fa tag:vip', 10, known, true)
    expect(first).toMatchObject({ text: 'x state:failed tag:vip', cursor: 15 })
  })

  it('are all fields where nothing is typed, and nothing within a text', () => {
    expect(texts('').length).toBeGreaterThan(10)
    expect(texts('"sta')).toEqual([])
    expect(texts('tag:vip ', 8)).toContain('tag:vip state:')
  })

  it('do not offer owners to users who see only their own jobs', () => {
    expect(texts('own')).toEqual(['owner:'])
    expect(texts('own', 3, false)).toEqual([])
  })
})

describe('the problem of a query', () => {
  it('marks the term that the server names', () => {
    const error = new HoraeError(
      400,
      'ERROR_JOB_QUERY',
      "query, character 9: 'state:x': the state is unknown",
    )
    expect(problemOf(error, 'owner:a state:x tag:b')).toEqual({
      text: "'state:x': the state is unknown",
      parts: ['owner:a ', 'state:x', ' tag:b'],
    })
    expect(problemOf(error, '😀😀😀😀😀😀😀 state:x')?.parts[1]).toBe('state:x')
    expect(problemOf(new HoraeError(500, 'ERROR_INTERNAL', 'x'), 'a')).toBe(null)
  })
})

describe('saved searches', () => {
  it('are read from any stored text', () => {
    expect(parseSaved(null)).toEqual([])
    expect(parseSaved('{')).toEqual([])
    expect(parseSaved('{"a": 1}')).toEqual([])
    expect(parseSaved('[null, 5, {"name": ""}, {"name": "a", "query": "b"}]')).toEqual([
      { name: 'a', query: 'b' },
    ])
  })

  it('are sorted, and replaced by name', () => {
    const saved = [{ name: 'b', query: '1' }]
    expect(withSaved(saved, { name: ' a ', query: ' 2 ' }).map(({ name }) => name)).toEqual([
      'a',
      'b',
    ])
    expect(withSaved(saved, { name: 'b', query: '3' })).toEqual([{ name: 'b', query: '3' }])
    const many = Array.from({ length: 60 }, (_, index) => ({ name: `n${index}`, query: 'x' }))
    expect(withSaved(many, { name: 'z', query: 'y' })).toContainEqual({ name: 'z', query: 'y' })
  })
})
