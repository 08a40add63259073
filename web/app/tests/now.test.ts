import { afterEach, describe, expect, it, vi } from 'vitest'

import type { Problem } from '@/api/model'
import { client, server } from '@/api/server'
import { schedules } from '@/api/schedules'
import { installation } from '@/layout/installation'
import { act, jobsOf, pageOf, retry, subjectOf } from '@/views/now/deeds'
import { sentenceOf } from '@/views/now/sentence'

const problem = (part: Partial<Problem>): Problem => ({
  level: 'problem',
  subject: 'queues',
  kind: 'queue_late',
  message: 'm',
  message_sentence: null,
  advice: null,
  advice_sentence: null,
  since: null,
  about: { noun: 'queue', name: 'mail', id: null },
  counted: { count: 3, query: 'state:pending queue:mail' },
  deeds: ['pause'],
  ...part,
})

afterEach(() => void vi.restoreAllMocks())

describe('the sentence', () => {
  it.each([
    [3, 0, 1, '3 things are wrong'],
    [1, 2, 1, '1 thing is wrong, and 2 more deserve a look'],
    [0, 1, 1, 'Nothing is wrong; 1 thing deserves a look'],
    [0, 0, 1, 'All well'],
    [0, 0, 0, 'Nothing is wrong, but no node runs'],
  ])('of %i wrong and %i notable things, with %i nodes', (wrong, notable, nodes, text) => {
    expect(sentenceOf({ wrong, notable, nodes_alive: nodes })).toBe(text)
  })
})

describe('a problem', () => {
  it('links to its jobs and to what it is about', () => {
    expect(jobsOf(problem({}))).toEqual({ name: 'jobs', query: { q: 'state:pending queue:mail' } })
    expect(jobsOf(problem({ counted: null }))).toBeNull()
    const about = { noun: 'schedule', name: 'nightly', id: '7' } as const
    expect(pageOf(problem({ about }))).toEqual({ name: 'schedule', params: { id: '7' } })
    expect(pageOf(problem({ about: { noun: 'limit', name: 'calls', id: null } }))).toEqual({
      name: 'limits',
    })
    expect(pageOf(problem({ about: null }))).toBeNull()
    expect(subjectOf(problem({ about }))).toBe('Schedule nightly')
  })

  it('is acted on by the endpoint of what it is about', async () => {
    const pauseQueue = vi.spyOn(server, 'pauseQueue').mockResolvedValue(undefined as never)
    const resume = vi.spyOn(schedules, 'resume').mockResolvedValue(undefined as never)
    const json = vi.spyOn(client.transport, 'json').mockResolvedValue({ id: 12 })
    expect(await act('pause', problem({}), 'why')).toBe('Queue mail: paused.')
    expect(pauseQueue).toHaveBeenCalledWith('mail', 'why')
    await act('resume', problem({ about: { noun: 'schedule', name: 'nightly', id: '7' } }), null)
    expect(resume).toHaveBeenCalledWith(7)
    expect(await retry(problem({}))).toEqual({ name: 'job', params: { id: 12 } })
    expect(json).toHaveBeenCalledWith('POST', '/api/jobs/bulk/retry/', {
      body: { query: 'state:pending queue:mail' },
    })
  })
})

describe('an installation', () => {
  const page = (head: string): Document =>
    new DOMParser().parseFromString(`<head>${head}</head>`, 'text/html')

  it('has the name and the colour of the page', () => {
    const head =
      '<meta name="horae-band" content="staging" data-colour="#f59e0b" data-text="#000000">'
    expect(installation(page(head))).toEqual({
      name: 'staging',
      colour: '#f59e0b',
      textColour: '#000000',
    })
  })

  it.each(['', '<meta name="horae-band" content="x" data-colour="red;}" data-text="#000000">'])(
    'has no band without a colour that is one: %s',
    (head) => {
      expect(installation(page(head))).toBeNull()
    },
  )
})
