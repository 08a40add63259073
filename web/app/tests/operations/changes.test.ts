import { describe, expect, it } from 'vitest'

import { changedValues, channelText, valueText } from '@/views/operations/changes'

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
    expect([valueText(undefined), valueText('x'), valueText({ a: 1 })]).toEqual([
      'none',
      'x',
      '{"a":1}',
    ])
    expect([channelText('cli'), channelText('pigeon')]).toEqual(['via CLI', 'pigeon'])
  })
})
