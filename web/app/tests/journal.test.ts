import { describe, expect, it } from 'vitest'

import { momentText } from '@/format/moment'
import { filtersOf, isFiltered, NO_FILTERS, queryOf } from '@/views/journal/filters'

import { changedValues, channelText, valueText } from '@/views/journal/changes'

describe('a change', () => {
  it('has the values that differ between before and after', () => {
    expect(
      changedValues({ queue: 'a', cron: '* * * * *' }, { queue: 'b', cron: '* * * * *' }),
    ).toEqual([{ name: 'queue', before: 'a', after: 'b' }])
  })

  it('has all values of an object that was created or deleted', () => {
    expect(changedValues(null, { limit: 3 })).toEqual([
      { name: 'limit', before: undefined, after: 3 },
    ])
    expect(changedValues({ limit: 3 }, null)).toEqual([
      { name: 'limit', before: 3, after: undefined },
    ])
    expect(changedValues(null, null)).toEqual([])
    expect(changedValues(1, 2)).toEqual([{ name: 'value', before: 1, after: 2 }])
  })

  it('formats values and interfaces', () => {
    const moment = '2030-01-01T03:10:00+00:00'
    expect(valueText(moment)).toBe(momentText(moment))
    expect([valueText(undefined), valueText('x'), valueText({ a: 1 })]).toEqual([
      'none',
      'x',
      '{"a":1}',
    ])
    expect([channelText('cli'), channelText('pigeon')]).toEqual(['Command line', 'pigeon'])
  })
})

describe('the filters of the journal', () => {
  it('survive in an address', () => {
    const filters = {
      ...NO_FILTERS,
      kind: 'schedule',
      target: 'nightly',
      since: '2026-11-01T00:00:00.000Z',
    }
    expect(filtersOf(queryOf(filters))).toEqual(filters)
    expect([isFiltered(filters), isFiltered({ ...NO_FILTERS, cursor: '7' })]).toEqual([true, false])
  })

  it('are left out if they make no sense', () => {
    expect(filtersOf({ kind: 'x', channel: 'y', since: 'soon', cursor: '-1' })).toEqual(NO_FILTERS)
  })
})
