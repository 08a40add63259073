import { expect, it } from 'vitest'

import { jobIdOf, matching, moved, SHOWN_OF_KIND, type Entry, type Kind } from '@/palette/entries'

function entry(title: string, kind: Kind = 'page'): Entry {
  return { id: title, kind, icon: 'jobs', title, target: '/' }
}

const titles = (entries: readonly Entry[]): string[] => entries.map(({ title }) => title)

it.each([
  ['4711', 4711],
  [' #4711 ', 4711],
  ['47 11', null],
  ['9'.repeat(19), null],
  ['', null],
])('the id in %j is %s', (query, id) => {
  expect(jobIdOf(query)).toBe(id)
})

it('entries with all words are found, the closest first', () => {
  const known = ['unqueued', 'late queues', 'Queues', 'Nodes'].map((title) => entry(title))
  expect(titles(matching(known, 'que', []))).toEqual(['Queues', 'late queues', 'unqueued'])
  expect(titles(matching(known, 'QUEUES late', []))).toEqual(['late queues'])
  expect(titles(matching(known, 'a.*b', []))).toEqual([])
})

it('kinds keep their order and are bounded, and what the server found stays', () => {
  const many = Array.from({ length: 60 }, (_, index) => entry(`queue-${index}`, 'queue'))
  const nightly = entry('nightly', 'schedule')
  const shown = matching([...many, entry('Queues')], 'queue', [nightly])
  expect(titles(shown.slice(0, 2))).toEqual(['Queues', 'nightly'])
  expect(shown).toHaveLength(2 + SHOWN_OF_KIND)
})

it('the choice goes round', () => {
  expect([moved(2, 1, 3), moved(0, -1, 3), moved(0, 1, 0)]).toEqual([0, 2, -1])
})
