import { createHorae, type JobDetail } from '@horae/vue'
import { createPinia } from 'pinia'
import { afterEach, describe, expect, it } from 'vitest'
import { createApp, h } from 'vue'

import StateBadge from '@/components/StateBadge.vue'
import { bulkOutcome } from '@/jobs/bulkOutcome'
import BulkOutcome from '@/views/job/BulkOutcome.vue'
import { jobOf } from '../jobFixtures'
import { showIn } from '../language'

const RESULT = { total: 1000, changed: 997, skipped: 0, failed: 3, errors: ['job 7: "in use"'] }

function outcomeOf(result: object | null, state = 'finished', type = 'horae.bulk') {
  return bulkOutcome({ ...jobOf(1, state, { type }), result } as unknown as JobDetail)
}

afterEach(() => showIn('en'))

describe('the outcome of a change of many jobs', () => {
  it('is told in a sentence, with what was refused and why', () => {
    const outcome = outcomeOf(RESULT)!
    const page = document.createElement('div')
    createApp({ render: () => h(BulkOutcome, { outcome }) }).mount(page)
    expect(page.querySelector('p')!.textContent).toBe('997 of 1,000 jobs changed; 3 refused:')
    const reasons = [...page.querySelectorAll('li')].map(({ textContent }) => textContent.trim())
    expect(reasons).toEqual(['job 7: "in use"', 'and 2 more'])
  })

  it('counts what began to match after the others were counted', () => {
    expect(outcomeOf({ ...RESULT, total: 10 })).toMatchObject({ total: 1000 })
    expect(outcomeOf({ ...RESULT, total: null })).toMatchObject({ total: 1000 })
  })

  it('names in German what the server refuses, and leaves the texts of hooks', async () => {
    const sentence = { job: 7, code: 'value_job_type', values: { type: 'lost' } }
    const errors = ['job 7: "no such type"', 'job 8: "in use"']
    const result = { ...RESULT, failed: 2, errors, sentences: [sentence, null] }
    expect(outcomeOf(result)!.reasons).toEqual(errors)
    await showIn('de')
    expect(outcomeOf(result)!.reasons).toEqual([
      'Job #7: Den Jobtyp „lost“ kennt dieser Server nicht.',
      'job 8: "in use"',
    ])
  })

  it('is not known of other jobs, before the end, or to viewers', () => {
    expect(outcomeOf(RESULT, 'started')).toBeNull()
    expect(outcomeOf(RESULT, 'finished', 'import_csv')).toBeNull()
    expect(outcomeOf(null)).toBeNull()
  })
})

describe('the badge of a job that changed many others', () => {
  function badgeOf(refused: number, type = 'horae.bulk'): Element {
    const place = document.createElement('div')
    const job = { ...jobOf(1, 'finished', { type }), refused }
    createApp(StateBadge, { job }).use(createPinia()).use(createHorae()).mount(place)
    return place.firstElementChild!
  }

  it('warns of what was refused', () => {
    expect(badgeOf(3).textContent).toBe('Finished, 3 refused')
    expect(badgeOf(3).className).toBe('badge badge--warning')
    expect(badgeOf(0).textContent).toBe('Finished')
    expect(badgeOf(0).className).toBe('badge badge--finished')
    expect(badgeOf(3, 'of_another_type').textContent).toBe('Finished')
  })
})
