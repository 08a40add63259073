import type { JobDetail } from '@horae/vue'
import { describe, expect, it } from 'vitest'
import { createApp, h } from 'vue'

import { bulkOutcome } from '@/jobs/bulkOutcome'
import BulkOutcome from '@/views/job/BulkOutcome.vue'
import { jobOf } from '../jobFixtures'

const RESULT = { total: 1000, changed: 997, skipped: 0, failed: 3, errors: ['job 7: "in use"'] }

function outcomeOf(result: object | null, state = 'finished', type = 'horae.bulk') {
  return bulkOutcome({ ...jobOf(1, state, { type }), result } as unknown as JobDetail)
}

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

  it('is not known of other jobs, before the end, or to viewers', () => {
    expect(outcomeOf(RESULT, 'started')).toBeNull()
    expect(outcomeOf(RESULT, 'finished', 'import_csv')).toBeNull()
    expect(outcomeOf(null)).toBeNull()
  })
})
