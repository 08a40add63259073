import { describe, expect, it } from 'vitest'

import { publicTypesOf } from '@/api/publicTypes'
import { newGroupOf, paramsProblem } from '@/jobs/newGroup'

const job = (type: string, params = '') => ({ key: 0, type, params })

describe('the parameters of a job of a new group', () => {
  it.each(['', '  ', '{}', ' {"n": 1, "text": "12345678901234567890"} ', '{"n": 1.5e300}'])(
    'may be %j',
    (input) => expect(paramsProblem(input)).toBe(''),
  )

  it.each([
    ['{"n": }', 'not valid JSON'],
    ["{'n': 1}", 'not valid JSON'],
    ['[1]', 'an object'],
    ['null', 'an object'],
    ['7', 'an object'],
    ['{"id": 9007199254740993}', 'round 9007199254740993'],
  ])('may not be %j', (input, problem) => expect(paramsProblem(input)).toContain(problem))
})

describe('the input of a new group', () => {
  it('is a group', () => {
    expect(
      newGroupOf([job(' fetch ', '{"n": 1}'), job('fetch')], job('combine'), 'cancel'),
    ).toEqual({
      members: [
        { type: 'fetch', params: { n: 1 } },
        { type: 'fetch', params: {} },
      ],
      then: { type: 'combine', params: {} },
      on_failure: 'cancel',
    })
    expect(newGroupOf([job('fetch')], null, 'continue')?.then).toBeNull()
  })

  it('is undefined while a job has no type or wrong parameters, and without jobs', () => {
    expect(newGroupOf([job('fetch'), job(' ')], null, 'continue')).toBeUndefined()
    expect(newGroupOf([job('fetch', '[]')], null, 'continue')).toBeUndefined()
    expect(newGroupOf([job('fetch')], job(''), 'continue')).toBeUndefined()
    expect(newGroupOf([], job('combine'), 'continue')).toBeUndefined()
  })
})

it('suggests the types that have an endpoint', () => {
  const paths = {
    '/api/jobs/types/fetch/': {},
    '/api/jobs/types/combine/': {},
    '/api/jobs/{job_id}/': {},
  }
  expect(publicTypesOf({ paths })).toEqual(['combine', 'fetch'])
})
