import { hasEnded, stateOf, type Job } from '@horae/vue'

import type { Tick } from '@/api/schedules'
import { secondsBetween } from '@/format/duration'

/** A nominal time with what became of it. */
export interface Happening {
  readonly tick: Tick
  readonly job: Job | null
  /** What the badge says: how the run went, or the decision if there was none. */
  readonly outcome: string
  readonly seconds: number | null
}

/** Put ticks and the jobs that they started together. */
export function historyOf(ticks: readonly Tick[], jobs: readonly Job[]): Happening[] {
  const known = new Map(jobs.map((job) => [job.id, job]))
  return ticks.map((tick) => {
    const job = tick.job_id === null ? null : (known.get(tick.job_id) ?? null)
    return {
      tick,
      job,
      outcome: job === null ? tick.decision : stateOf(job),
      seconds:
        job !== null && hasEnded(job) ? secondsBetween(job.started_on, job.finished_on) : null,
    }
  })
}

/** What a badge says of an outcome. */
export function outcomeWord(outcome: string): string {
  return outcome.charAt(0).toUpperCase() + outcome.slice(1)
}

/** The bars of a small chart of runs, oldest first: heights in percent of the longest. */
export function runBars(
  history: readonly Happening[],
  most = 40,
): { key: string; outcome: string; height: number }[] {
  const shown = history.slice(0, most).reverse()
  const longest = Math.max(...shown.map((each) => each.seconds ?? 0), 0.001)
  return shown.map((each) => ({
    key: each.tick.nominal_time,
    outcome: each.outcome,
    height: Math.max(12, Math.round(((each.seconds ?? 0) / longest) * 100)),
  }))
}
