import type { Job } from '@horae/vue'

import { secondsBetween } from '@/format/duration'
import { agoText } from '@/format/moment'
import { texts } from '@/texts/texts'

/** Return how long the latest attempt of a job has run, in seconds; null for a job that waits for its next one. */
export function runSeconds(job: Job, now: number): number | null {
  // A job that waits for another attempt keeps the start of the last one.
  if (job.state === 'pending' || !job.started_on) return null
  return secondsBetween(job.started_on, job.finished_on ?? now)
}

/** Return how long a job waited from when it was due until it began, or until now, in seconds; null before it is due. */
export function waitSeconds(job: Job, now: number): number | null {
  const until = job.state === 'pending' ? now : (job.started_on ?? job.finished_on)
  const waited = secondsBetween(job.due_on, until)
  return waited === null || waited < 0 ? null : waited
}

/** Return when the next attempt of a job is, relative to `now`; null for a job that does not wait for another one. */
export function nextAttemptText(job: Job, now: number): string | null {
  if (job.state !== 'pending' || !job.retry_reason) return null
  return Date.parse(job.due_on) > now
    ? texts.value.jobs.nextAttempt(agoText(job.due_on, now))
    : texts.value.jobs.nextAttemptDue
}
