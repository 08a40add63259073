import { describe, expect, it } from 'vitest'

import type { ScheduleDetail } from '@/api/schedules'
import {
  changedBody,
  draftOf,
  emptyDraft,
  newBody,
  onceAsCron,
  onceOf,
  triggerBody,
} from '@/schedules/draft'
import { refusalOf } from '@/schedules/formErrors'
import { parameterInputs, paramsOf } from '@/schedules/parameterInputs'
import { HoraeError } from '@horae/vue'

const SCHEMA = {
  $defs: { Kind: { enum: ['full', 'brief'], type: 'string' } },
  properties: {
    path: { type: 'string' },
    shards: { type: 'integer', default: 2 },
    kind: { $ref: '#/$defs/Kind' },
    limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    rows: { type: 'array' },
    token: { type: 'string', format: 'password', writeOnly: true },
  },
  required: ['path'],
}
const TYPE = { type: 'report', queue: 'default', description: null, parameters: SCHEMA }

function stored(more: Partial<ScheduleDetail> = {}): ScheduleDetail {
  return {
    name: 'nightly',
    job_type: 'report',
    trigger: { kind: 'cron', text: '30 2 * * *; dst_fold=both' },
    timezone: 'Europe/Berlin',
    params: { path: 'a.csv', shards: 3 },
    overlap: 'skip',
    catch_up: 'last',
    catch_up_limit: 100,
    catch_up_window_seconds: 604_800,
    jitter_seconds: 0,
    max_runtime_seconds: null,
    max_retries: null,
    retry_period: null,
    backoff: 'exponential',
    exclude: [],
    queue: 'default',
    priority: 0,
    enabled: true,
    ...more,
  } as ScheduleDetail
}

describe('a draft', () => {
  it('that is opened and not changed changes nothing', () => {
    const draft = draftOf(stored())
    expect(changedBody(draft, draftOf(stored()), TYPE)).toEqual({})
    expect([draft.cron, draft.dstFold, draft.catchUpWindow]).toEqual([
      '30 2 * * *',
      'both',
      '7 days',
    ])
  })

  it('sends what was changed and nothing else', () => {
    const opened = draftOf(stored())
    expect(changedBody({ ...opened, priority: '5' }, opened, TYPE)).toEqual({ priority: 5 })
    expect(changedBody({ ...opened, cron: '0 4 * * *' }, opened, TYPE)).toEqual({
      cron: '0 4 * * *',
      timezone: 'Europe/Berlin',
      dst_gap: 'shift',
      dst_fold: 'both',
    })
    const params = { ...opened.params, shards: '9' }
    expect(changedBody({ ...opened, params }, opened, TYPE)).toEqual({
      params: { path: 'a.csv', shards: 9 },
    })
  })

  it('of a single moment is an expression with a year, and back', () => {
    expect(onceAsCron('2026-12-24T18:05')).toBe('0 5 18 24 12 * 2026')
    expect(onceOf('0 5 18 24 12 * 2026')).toBe('2026-12-24T18:05')
    expect(onceOf('0 5 18 24 * * 2026')).toBeNull()
    expect(onceAsCron('')).toBe('')
    expect(draftOf(stored({ trigger: { kind: 'cron', text: '0 5 18 24 12 * 2026' } })).kind).toBe(
      'once',
    )
  })

  it('asks nothing of the server while it is empty', () => {
    expect(triggerBody(emptyDraft('UTC'))).toBeUndefined()
    expect(triggerBody({ ...emptyDraft('UTC'), kind: 'interval', every: ' 10m ' })).toEqual({
      every: '10m',
      timezone: 'UTC',
      fixed: false,
    })
  })

  it('of a new interval has no policies that it could not follow', () => {
    const draft = {
      ...emptyDraft('UTC'),
      kind: 'interval' as const,
      every: '10m',
      overlap: 'allow_all',
    }
    expect(newBody(draft, undefined)).toMatchObject({ overlap: 'skip', catch_up: 'last' })
  })
})

describe('parameters', () => {
  it('have an input by their schema', () => {
    const inputs = parameterInputs(SCHEMA)
    expect(inputs.map(({ name, kind }) => [name, kind])).toEqual([
      ['path', 'text'],
      ['shards', 'number'],
      ['kind', 'choice'],
      ['limit', 'number'],
      ['rows', 'json'],
      ['token', 'text'],
    ])
    expect(inputs[5]?.secret).toBe(true)
    expect([inputs[0]?.required, inputs[1]?.fallback]).toEqual([true, '2'])
  })

  it('are sent as JSON values; what cannot be read is sent as it is, and refused', () => {
    const texts = { path: '12', shards: '3', rows: '[1]', limit: 'many', kind: '' }
    expect(paramsOf(parameterInputs(SCHEMA), texts)).toEqual({
      path: '12',
      shards: 3,
      rows: [1],
      limit: 'many',
    })
  })
})

describe('a refusal', () => {
  it('is shown at the field that it concerns', () => {
    const cron = new HoraeError(400, 'ERROR_CRON_SYNTAX', "minute '61': expected 0-59")
    expect(refusalOf(cron, []).fields).toEqual({ cron: "minute '61': expected 0-59" })
    const sentence = { code: 'value_zone', values: { zone: 'Mars' } }
    const unknown = "unknown time zone 'Mars': give an IANA name like Europe/Berlin"
    const zone = new HoraeError(400, 'ERROR_INVALID_REQUEST', unknown, sentence)
    expect(refusalOf(zone, []).fields).toEqual({ timezone: unknown })
    const jitter = new HoraeError(400, 'ERROR_INVALID_INTERVAL', "jitter: interval 'x': no unit")
    expect(refusalOf(jitter, []).fields).toEqual({ jitter: "jitter: interval 'x': no unit" })
    const other = new HoraeError(400, 'ERROR_INVALID_REQUEST', 'something else')
    expect(refusalOf(other, [])).toMatchObject({ fields: {}, general: 'something else' })
  })

  it('of a parameter is told from one of an option of the same name', () => {
    const detail = {
      queue: [{ error: 'no number', code: 'invalid' }],
      priority: [{ error: 'too large', code: 'int_parsing' }],
    }
    const error = new HoraeError(400, 'ERROR_REQUEST_BODY_VALIDATION', detail)
    expect(refusalOf(error, ['queue']).fields).toEqual({
      'params.queue': 'no number',
      priority: 'too large',
    })
  })

  it('tells that somebody else has changed the schedule', () => {
    expect(refusalOf(new HoraeError(400, 'ERROR_SCHEDULE_WAS_CHANGED', 'x'), []).conflict).toBe(
      true,
    )
  })
})
