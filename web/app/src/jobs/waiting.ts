import type { Job } from '@horae/vue'

const REASONS: Readonly<Record<string, string>> = {
  jobs: 'It waits for other jobs to end.',
  limit: 'It waits for its turn: a limit or a fair queue holds it back.',
}

/** Explain why a pending job that is due has not started; null if nothing is known to hold it back. */
export function waitingText(job: Pick<Job, 'state' | 'waits_for'>): string | null {
  if (job.state !== 'pending' || !job.waits_for) return null
  return REASONS[job.waits_for] ?? null
}
