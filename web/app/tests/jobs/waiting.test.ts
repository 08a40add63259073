import { describe, expect, it } from 'vitest'

import { waitingText } from '@/jobs/waiting'

describe('why a job waits', () => {
  it('is explained while it is pending', () => {
    expect(waitingText({ state: 'pending', waits_for: 'jobs' })).toMatch(/other jobs/)
    expect(waitingText({ state: 'pending', waits_for: 'limit' })).toMatch(/limit/)
  })

  it('is unknown otherwise', () => {
    expect(waitingText({ state: 'pending', waits_for: null })).toBeNull()
    expect(waitingText({ state: 'finished', waits_for: 'jobs' })).toBeNull()
    expect(waitingText({ state: 'pending', waits_for: 'godot' })).toBeNull()
  })
})
