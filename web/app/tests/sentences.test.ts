import { HoraeError } from '@horae/vue'
import { afterEach, describe, expect, it } from 'vitest'

import { momentText } from '@/format/moment'
import { errorText } from '@/notices/notices'
import { problemOf } from '@/jobs/query/problem'
import { sentenceText, wordsOf } from '@/texts/sentences'
import { showIn } from './language'

afterEach(() => showIn('en'))

const AT = '2026-11-24T16:00:00Z'
const paused = {
  code: 'queue_paused_since',
  values: { queue: 'mail', since: AT, by: 'ann', note: null, jobs: 3 },
} as const

describe('a sentence of the server', () => {
  it('is written in the language and the zone of the page', async () => {
    expect(sentenceText('x', paused)).toBe(
      `Queue “mail” has been paused since ${momentText(AT)} by ann; 3 jobs wait.`,
    )
    await showIn('de')
    expect(sentenceText('x', paused)).toBe(
      `Die Warteschlange „mail“ ist angehalten seit ${momentText(AT)} von ann; 3 Jobs warten.`,
    )
  })

  it('is left in English if its code is unknown, or if it has none', async () => {
    await showIn('de')
    const newer = { code: 'of_a_newer_server', values: {} } as never
    expect(sentenceText('What the server says.', newer)).toBe('What the server says.')
    expect(sentenceText('What the server says.', null)).toBe('What the server says.')
  })

  it('may have others within', async () => {
    await showIn('de')
    const work = {
      code: 'due_work',
      values: { jobs: 1, type: 't', queue: 'q', seconds: 90, awaited: 0 },
      text: '1 due job',
    }
    expect(sentenceText('', { code: 'work_without_node', values: { work } })).toBe(
      '1 fälliger Job wartet (Typ „t“, Warteschlange „q“, am längsten 1 min 30 s), und kein Knoten läuft.',
    )
  })

  it('is what an error says', async () => {
    const sentence = { code: 'job_missing', values: { job: 7 } }
    const error = new HoraeError(404, 'ERROR_JOB_DOES_NOT_EXIST', 'job 7 does not exist', sentence)
    await showIn('de')
    expect(errorText(error)).toContain('Den Job 7 gibt es nicht.')
  })

  it('is what a search is refused for', async () => {
    const problem = { code: 'query_group', values: {}, text: 'expected the number of a group' }
    const sentence = { code: 'query_at', values: { position: 1, term: "'group:x'", problem } }
    const english = "query, character 1: 'group:x': expected the number of a group"
    const error = new HoraeError(400, 'ERROR_JOB_QUERY', english, sentence)
    await showIn('de')
    expect(problemOf(error, 'group:x')?.text).toBe(
      "'group:x': erwartet wird die Nummer einer Gruppe wie group:12",
    )
  })
})

describe('the words for a trigger', () => {
  it('are English where the server has no others', async () => {
    const described = { words: 'At 03:00.', words_in: { de: 'Um 03:00.' } }
    expect(wordsOf(described)).toBe('At 03:00.')
    await showIn('de')
    expect(wordsOf(described)).toBe('Um 03:00.')
    expect(wordsOf({ ...described, words_in: {} })).toBe('At 03:00.')
  })
})
