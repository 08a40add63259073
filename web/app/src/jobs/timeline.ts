import { hasEnded, type Job, type JobAttempt } from '@horae/vue'

import { soonText } from '@/format/moment'

/** A stretch in the life of a job; moments in milliseconds. */
export interface Stretch {
  readonly kind: 'delayed' | 'waiting' | 'running' | 'failed'
  readonly from: number
  readonly to: number
  readonly label: string
  /** It goes on now. */
  readonly open: boolean
}

/** A job with what its own page knows of why it waits. */
export type WaitingJob = Job & { readonly queue_is_paused?: boolean }

/** What became of a job, one stretch after another: delayed, waiting, running, waiting for a retry, and so on. */
export function timelineOf(
  job: WaitingJob,
  attempts: readonly JobAttempt[],
  now: number,
): Stretch[] {
  const end = job.finished_on ? Date.parse(job.finished_on) : now
  const stretches: Stretch[] = []
  let at = Date.parse(job.created_on)

  function add(kind: Stretch['kind'], to: number, label: string, open = false): void {
    if (to > at || open) stretches.push({ kind, from: at, to: Math.max(to, at), label, open })
    at = Math.max(to, at)
  }

  for (const attempt of attempts) {
    const began = Date.parse(attempt.started_on)
    addWait(job, at, began, began, add)
    const kind = attempt.outcome === 'finished' ? 'running' : 'failed'
    add(
      kind,
      Date.parse(attempt.finished_on),
      `Attempt ${attempt.attempt}: ${outcomeText(attempt.outcome)}`,
    )
  }
  const started = runningSince(job, attempts)
  const open = !hasEnded(job)
  // An attempt ends a moment before its job does: nothing is waited for there.
  if (attempts.at(-1)?.outcome === job.state) return stretches
  addWait(job, at, started, started ?? end, add)
  if (started !== null)
    add('running', end, `Attempt ${job.attempt}: ${open ? 'running' : job.state}`, open)
  return stretches
}

type Add = (kind: Stretch['kind'], to: number, label: string, open?: boolean) => void

/** The time before a start: held back until it was due, then waiting for a slot. */
function addWait(job: WaitingJob, from: number, start: number | null, to: number, add: Add): void {
  const open = start === null && !hasEnded(job)
  const due = Date.parse(job.due_on)
  if (open && due > to) {
    add('delayed', to, delayText(job, to), true)
    return
  }
  // The job tells when its next attempt is due, or its latest was; of those before nobody knows any more.
  const held = start === null ? Math.min(due, to) : due <= start ? due : from
  if (held > from) add('delayed', held, 'Not yet due')
  if (to > Math.max(held, from)) add('waiting', to, open ? waitText(job) : 'Waited', open)
}

/** Why a job that is due has not started. */
function waitText(job: WaitingJob): string {
  return job.queue_is_paused ? 'Queue paused' : 'Waiting for a slot'
}

/** Until when a job waits, and for which attempt if it is not the first. */
function delayText(job: WaitingJob, now: number): string {
  const until = `Waiting until ${soonText(job.due_on, now)}`
  const again = job.attempt > 0 ? ` (attempt ${job.attempt + 1} of ${job.max_attempts})` : ''
  return until + again + (job.queue_is_paused ? '; queue paused' : '')
}

/** When the attempt began that no row tells of yet; null if there is none. */
function runningSince(job: Job, attempts: readonly JobAttempt[]): number | null {
  if (!job.started_on || job.state === 'pending') return null
  const started = Date.parse(job.started_on)
  return attempts.some((attempt) => Date.parse(attempt.started_on) >= started) ? null : started
}

const OUTCOMES: Readonly<Record<string, string>> = {
  timed_out: 'timed out',
  crashed: 'node lost',
}

export function outcomeText(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome
}
