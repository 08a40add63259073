import { describe, expect, it } from 'vitest'

import { nextAttemptText, runSeconds } from '@/jobs/attempts'
import { at, jobOf, START } from '../jobFixtures'

const WAITING = jobOf(1, 'pending', {
  attempt: 1,
  max_attempts: 3,
  started_on: at(0),
  due_on: at(60),
  retry_reason: 'ConnectionError: refused',
})

describe('runSeconds', () => {
  it('counts up while an attempt runs, and stops when the job has ended', () => {
    expect(runSeconds(jobOf(1, 'started', { started_on: at(0) }), START + 5000)).toBe(5)
    const ended = jobOf(1, 'finished', { started_on: at(0), finished_on: at(3) })
    expect(runSeconds(ended, START + 5000)).toBe(3)
  })

  it('is not known for a job that waits for its first or another attempt', () => {
    expect(runSeconds(jobOf(1), START + 5000)).toBeNull()
    expect(runSeconds(WAITING, START + 5000)).toBeNull()
  })
})

describe('nextAttemptText', () => {
  it('says in how long a job is tried again', () => {
    expect(nextAttemptText(WAITING, START + 15_000)).toBe('Next attempt in 45 s')
    expect(nextAttemptText(WAITING, START + 60_000)).toBe('Next attempt due')
  })

  it('is null for a job that runs, has ended or waits for its first attempt', () => {
    expect(nextAttemptText({ ...WAITING, state: 'started' }, START)).toBeNull()
    expect(nextAttemptText(jobOf(1, 'pending', { due_on: at(60) }), START)).toBeNull()
  })
})
