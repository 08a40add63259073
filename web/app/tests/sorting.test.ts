import { describe, expect, it } from 'vitest'

import { parseColumns } from '@/components/columns'
import { parseOrder, sortedBy } from '@/components/sorting'

describe('rows of a table', () => {
  it('are sorted with texts from A, numbers from the largest, and missing values last', () => {
    const rows = [
      { name: 'b', count: 2 },
      { name: 'a10', count: null },
      { name: 'a9', count: Infinity },
      { name: 'c', count: Infinity },
    ]
    const names = (found: readonly { name: string }[]): string =>
      found.map((row) => row.name).join()
    expect(names(sortedBy(rows, (row) => row.name))).toBe('a9,a10,b,c')
    expect(names(sortedBy(rows, (row) => row.count))).toBe('a9,c,b,a10')
    expect(names(sortedBy(rows, (row) => row.count, true))).toBe('b,a9,c,a10')
    expect(names(rows)).toBe('b,a10,a9,c')
  })

  it('are in the order that the address names', () => {
    const keys = ['name', 'rate'] as const
    expect(parseOrder('rate', keys, 'name')).toEqual({ by: 'rate', reversed: false })
    expect(parseOrder('-rate', keys, 'name')).toEqual({ by: 'rate', reversed: true })
    for (const text of [undefined, null, '', '-', 'size', ['rate']]) {
      expect(parseOrder(text, keys, 'name')).toEqual({ by: 'name', reversed: false })
    }
  })
})

describe('columns', () => {
  it('that were chosen are in the order of the table', () => {
    const names = ['queue', 'owner', 'due'] as const
    expect(parseColumns(null, names, ['owner'])).toEqual(['owner'])
    expect(parseColumns('due,queue,gone', names, ['owner'])).toEqual(['queue', 'due'])
    expect(parseColumns('', names, ['owner'])).toEqual([])
  })
})
