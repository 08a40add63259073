import { describe, expect, it } from 'vitest'

import type { HoraeNode } from '@/api/model'
import type { Deployment } from '@/api/schedules'
import { fateOf, nodesRunning, previousOf, slotsOf } from '@/views/fleet/fleet'
import { changesBetween, diffOf } from '@/views/fleet/schemaDiff'

const node = (part: Partial<HoraeNode>): HoraeNode => ({
  id: 'n',
  name: 'n',
  host: 'h',
  pid: 1,
  version: '1',
  roles: ['worker'],
  queues: null,
  types: [],
  slots: 10,
  slots_used: 3,
  running: 3,
  started_on: '',
  heartbeat_on: '',
  heartbeat_age: 0,
  ring_share: 0,
  alive: true,
  cause_of_death: null,
  cause_of_death_sentence: null,
  ...part,
})

const deployment = (part: Partial<Deployment>): Deployment => ({
  key: 'k',
  module: 'm',
  schema: '',
  min_replicas: 1,
  created_on: '2026-11-01T00:00:00Z',
  ended_on: null,
  replaced_by: null,
  types: [],
  ...part,
})

describe('slots', () => {
  it('are those of live workers', () => {
    const nodes = [node({}), node({ alive: false }), node({ roles: ['web'] }), node({ slots: 5 })]
    expect(slotsOf(nodes)).toEqual({ used: 6, all: 15 })
  })
})

describe('a dead node', () => {
  it('tells what became of its jobs', () => {
    const dead = { id: 'n', name: 'n', host: 'h', pid: 1, died_on: '' }
    expect(fateOf({ ...dead, jobs: { pending: 2, failed: 1 } })).toBe('1 failed, 2 to run again')
    expect(fateOf({ ...dead, jobs: {} })).toBe('it held none')
  })
})

describe('a deployment', () => {
  it('is run by the live nodes that know all of its types', () => {
    const nodes = [
      node({ name: 'both', types: ['a', 'b'] }),
      node({ name: 'one', types: ['a'] }),
      node({ name: 'dead', types: ['a', 'b'], alive: false }),
    ]
    expect(nodesRunning(deployment({ types: ['a', 'b'] }), nodes)?.map(({ name }) => name)).toEqual(
      ['both'],
    )
    expect(nodesRunning(deployment({}), nodes)).toBeNull()
  })

  it('follows the previous one of its module', () => {
    const all = [
      deployment({ key: 'old', created_on: '2026-10-01T00:00:00Z' }),
      deployment({ key: 'older', created_on: '2026-09-01T00:00:00Z' }),
      deployment({ key: 'other', module: 'x', created_on: '2026-10-20T00:00:00Z' }),
    ]
    expect(previousOf(deployment({}), all)?.key).toBe('old')
    expect(previousOf(all[1]!, all)).toBeUndefined()
  })

  it('shows only the lines that changed', () => {
    expect(changesBetween('a\nb\nc\n', 'a\nB\nc\nd\n')).toEqual([
      { mark: '-', text: 'b' },
      { mark: '+', text: 'B' },
      { mark: '+', text: 'd' },
    ])
    expect(changesBetween('a\n', 'a\n')).toEqual([])
    expect(diffOf([], ['x'])).toEqual([{ mark: '+', text: 'x' }])
  })

  it('names the schedule whose options changed', () => {
    const before = ['verb gone', '  +job gone', 'verb kept', '  +cron 1', '  +priority 0']
    const after = ['verb kept', '  +cron 2', '  +priority 1', 'verb new', '  +job new']
    expect(
      changesBetween(before.join('\n'), after.join('\n')).map(({ mark, text }) => mark + text),
    ).toEqual([
      '-verb gone',
      '-  +job gone',
      ' verb kept',
      '-  +cron 1',
      '-  +priority 0',
      '+  +cron 2',
      '+  +priority 1',
      '+verb new',
      '+  +job new',
    ])
  })

  it('is compared by its set of lines if it is huge', () => {
    const lines = Array.from({ length: 2100 }, (_, index) => `line ${index}`)
    expect(diffOf(lines, [...lines.slice(1), 'new'])).toEqual([
      { mark: '-', text: 'line 0' },
      { mark: '+', text: 'new' },
    ])
  })
})
