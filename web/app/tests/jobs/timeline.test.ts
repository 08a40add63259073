import type { JobAttempt } from '@horae/vue'
import { describe, expect, it } from 'vitest'

import { clockText } from '@/format/moment'
import { latestAttempt, timelineOf } from '@/jobs/timeline'
import { at, jobOf, START } from '../jobFixtures'

function attempt(number: number, from: number, to: number, outcome: string): JobAttempt {
  return {
    attempt: number,
    node: 'n1',
    started_on: at(from),
    finished_on: at(to),
    outcome,
    error: null,
    traceback: null,
  }
}

function segments(...given: Parameters<typeof timelineOf>): string[] {
  return timelineOf(...given).map(
    ({ kind, from, to, open }) =>
      `${kind} ${(from - START) / 1000}-${(to - START) / 1000}${open ? ' now' : ''}`,
  )
}

const now = (seconds: number): number => START + seconds * 1000

describe('the timeline of a job', () => {
  it('that is waiting', () => {
    expect(segments(jobOf(1), [], now(5))).toEqual(['waiting 0-5 now'])
  })

  it('that is not due yet', () => {
    expect(segments(jobOf(1, 'pending', { due_on: at(60) }), [], now(5))).toEqual([
      'delayed 0-5 now',
    ])
  })

  it('that was due later, and has been waiting since', () => {
    expect(segments(jobOf(1, 'pending', { due_on: at(60) }), [], now(65))).toEqual([
      'delayed 0-60',
      'waiting 60-65 now',
    ])
  })

  it('that is running', () => {
    const job = jobOf(1, 'copying-rows', { started_on: at(2), attempt: 1 })
    expect(segments(job, [], now(9))).toEqual(['waiting 0-2', 'running 2-9 now'])
  })

  it('that has finished', () => {
    const job = jobOf(1, 'finished', { started_on: at(2), finished_on: at(8), attempt: 1 })
    expect(segments(job, [attempt(1, 2, 8, 'finished')], now(99))).toEqual([
      'waiting 0-2',
      'running 2-8',
    ])
  })

  it('that has finished a moment after its attempt', () => {
    const job = jobOf(1, 'finished', { started_on: at(2), finished_on: at(9), attempt: 1 })
    expect(segments(job, [attempt(1, 2, 8, 'finished')], now(99))).toEqual([
      'waiting 0-2',
      'running 2-8',
    ])
  })

  it('that failed, waited for its retry, and runs again', () => {
    const job = jobOf(1, 'started', { started_on: at(30), due_on: at(28), attempt: 2 })
    expect(segments(job, [attempt(1, 1, 4, 'failed')], now(40))).toEqual([
      'waiting 0-1',
      'failed 1-4',
      'delayed 4-28',
      'waiting 28-30',
      'running 30-40 now',
    ])
  })

  it('that was cancelled before it started', () => {
    const job = jobOf(1, 'cancelled', { finished_on: at(3) })
    expect(segments(job, [], now(99))).toEqual(['waiting 0-3'])
  })

  it('names the attempt and its outcome', () => {
    const job = jobOf(1, 'pending', { due_on: at(90) })
    const labels = timelineOf(job, [attempt(1, 1, 4, 'crashed')], now(10)).map(({ label }) => label)
    expect(labels).toContain('Attempt 1: node lost')
  })

  it('gives the reason for waiting', () => {
    const label = (...given: Parameters<typeof timelineOf>): string | undefined =>
      timelineOf(...given).at(-1)?.label
    const due = { due_on: at(90) }
    const time = clockText(at(90))
    expect(label(jobOf(1), [], now(5))).toBe('Waiting to start')
    expect(label({ ...jobOf(1), queue_is_paused: true }, [], now(5))).toBe('Queue paused')
    const limited = jobOf(1, 'pending', { waits_for: 'limit' })
    expect(label(limited, [], now(5))).toBe('Waiting for a limit or a turn')
    const after = jobOf(1, 'pending', { waits_for: 'jobs' })
    expect(label(after, [], now(5))).toBe('Waiting for other jobs')
    expect(label(jobOf(1, 'pending', due), [], now(5))).toBe(`Waiting until ${time}`)
    const again = jobOf(1, 'pending', { ...due, attempt: 1, max_attempts: 5 })
    expect(label(again, [attempt(1, 1, 4, 'failed')], now(5))).toBe(
      `Waiting until ${time} (attempt 2 of 5)`,
    )
    expect(label({ ...again, queue_is_paused: true }, [], now(5))).toMatch(/; queue paused$/)
    const later = jobOf(1, 'pending', { due_on: at(3 * 86_400) })
    expect(label(later, [], now(5))).toBe('Waiting until Jan 4, 2030, 00:00')
  })
})

describe('the lengths of the latest attempt', () => {
  it('are those of the timeline, whatever the due time was', () => {
    const job = jobOf(1, 'finished', {
      due_on: at(-0.003),
      started_on: at(2),
      finished_on: at(8.004),
      attempt: 1,
    })
    expect(latestAttempt(job, [attempt(1, 2, 8, 'finished')])).toEqual({ waited: 2, ran: 6 })
  })

  it('are those of the last one of several', () => {
    const job = jobOf(1, 'finished', {
      due_on: at(20),
      started_on: at(21),
      finished_on: at(25),
      attempt: 2,
      max_attempts: 2,
    })
    const attempts = [attempt(1, 2, 8, 'failed'), attempt(2, 21, 25, 'finished')]
    expect(latestAttempt(job, attempts)).toEqual({ waited: 1, ran: 4 })
  })

  it('are known for an attempt that took no time', () => {
    const job = jobOf(1, 'finished', { started_on: at(2), finished_on: at(2), attempt: 1 })
    expect(latestAttempt(job, [attempt(1, 2, 2, 'finished')])).toEqual({ waited: 2, ran: 0 })
    expect(segments(job, [attempt(1, 2, 2, 'finished')], now(9))).toEqual([
      'waiting 0-2',
      'running 2-2',
    ])
  })

  it('are unknown until it has started, and until it has ended', () => {
    expect(latestAttempt(jobOf(1), [])).toEqual({ waited: null, ran: null })
    const running = jobOf(1, 'started', { started_on: at(2), attempt: 1 })
    expect(latestAttempt(running, [])).toEqual({ waited: 2, ran: null })
  })
})
