import { hasEnded, type Job, type JobAttempt } from '@horae/vue'

import { soonText } from '@/format/moment'
import { texts, wordFor } from '@/texts/texts'

/** One segment of a job's timeline. Times are in milliseconds. */
export interface Segment {
  readonly kind: 'delayed' | 'waiting' | 'running' | 'failed'
  readonly from: number
  readonly to: number
  readonly label: string
  /** The segment has not ended yet. */
  readonly open: boolean
}

/** A job, and whether its queue is paused. */
export type WaitingJob = Job & { readonly queue_is_paused?: boolean }

/** Return the timeline of a job: delayed, waiting, running, waiting for a retry, and so on. */
export function timelineOf(
  job: WaitingJob,
  attempts: readonly JobAttempt[],
  now: number,
): Segment[] {
  const end = job.finished_on ? Date.parse(job.finished_on) : now
  const segments: Segment[] = []
  let at = Date.parse(job.created_on)

  function add(kind: Segment['kind'], to: number, label: string, open = false): void {
    const isAttempt = kind === 'running' || kind === 'failed'
    if (to > at || open || isAttempt)
      segments.push({ kind, from: at, to: Math.max(to, at), label, open })
    at = Math.max(to, at)
  }

  for (const attempt of attempts) {
    const attemptStart = Date.parse(attempt.started_on)
    addWait(job, at, attemptStart, attemptStart, add)
    const kind = NOT_FAILED.has(attempt.outcome) ? 'running' : 'failed'
    add(
      kind,
      Date.parse(attempt.finished_on),
      texts.value.jobPage.nthAttempt(attempt.attempt, outcomeText(attempt.outcome)),
    )
  }
  const started = runningSince(job, attempts)
  const open = !hasEnded(job)
  // An attempt ends a moment before its job. That moment is not shown as waiting.
  if (attempts.at(-1)?.outcome === job.state) return segments
  addWait(job, at, started, started ?? end, add)
  if (started !== null) add('running', end, attemptText(job, open), open)
  return segments
}

/** How long a job waited for its latest attempt, and how long that attempt ran, in seconds; null if it did not. */
export interface LatestAttempt {
  readonly waited: number | null
  readonly ran: number | null
}

/** Return the lengths of the latest attempt as the timeline shows them. */
export function latestAttempt(job: WaitingJob, attempts: readonly JobAttempt[]): LatestAttempt {
  const segments = timelineOf(job, attempts, Date.now())
  const index = segments.findLastIndex(({ kind }) => kind === 'running' || kind === 'failed')
  const before = segments[index - 1]
  return {
    waited: before?.kind === 'waiting' ? secondsOf(before) : null,
    ran: secondsOf(segments[index]),
  }
}

/** Return the length of a segment in seconds; null for one that is still open. */
function secondsOf(segment: Segment | undefined): number | null {
  return segment === undefined || segment.open ? null : (segment.to - segment.from) / 1000
}

type Add = (kind: Segment['kind'], to: number, label: string, open?: boolean) => void

/** Add the time before a start: first delayed until the job is due, then waiting for a slot. */
function addWait(job: WaitingJob, from: number, start: number | null, to: number, add: Add): void {
  const open = start === null && !hasEnded(job)
  const due = Date.parse(job.due_on)
  if (open && due > to) {
    add('delayed', to, delayText(job, to), true)
    return
  }
  // `due_on` belongs to the next or the latest attempt. The due times of earlier attempts are not stored.
  const dueAt = start === null ? Math.min(due, to) : due <= start ? due : from
  if (dueAt > from) add('delayed', dueAt, texts.value.jobPage.notYetDue)
  if (to > Math.max(dueAt, from))
    add('waiting', to, open ? waitText(job) : texts.value.jobPage.waited, open)
}

/** Return the reason why a job that is due has not started. */
function waitText(job: WaitingJob): string {
  const words = texts.value.jobPage
  if (job.queue_is_paused) return words.queuePaused
  return job.waits_for ? waitsForText(job.waits_for) : words.waitingToStart
}

/** Describe what holds a pending job back even when it is due. */
export function waitsForText(waitsFor: string): string {
  return wordFor(texts.value.jobPage.waits, waitsFor)
}

/** Describe until when a job waits, and for which attempt unless it is the first. */
function delayText(job: WaitingJob, now: number): string {
  const words = texts.value.jobPage
  const until = words.waitingUntil(soonText(job.due_on, now))
  const again = job.attempt > 0 ? ` ${words.whichAttempt(job.attempt + 1, job.max_attempts)}` : ''
  return until + again + (job.queue_is_paused ? `; ${words.alsoPaused}` : '')
}

/** Return the start of the attempt in progress; null if there is none. */
function runningSince(job: Job, attempts: readonly JobAttempt[]): number | null {
  if (!job.started_on || job.state === 'pending') return null
  const started = Date.parse(job.started_on)
  return attempts.some((attempt) => Date.parse(attempt.started_on) >= started) ? null : started
}

const NOT_FAILED: ReadonlySet<string> = new Set(['finished', 'snoozed', 'interrupted'])

export function outcomeText(outcome: string): string {
  return wordFor(texts.value.jobPage.outcomes, outcome)
}

function attemptText(job: WaitingJob, open: boolean): string {
  return texts.value.jobPage.nthAttempt(job.attempt, outcomeText(open ? 'running' : job.state))
}
