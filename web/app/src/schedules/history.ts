import { hasEnded, stateOf, type Job } from '@horae/vue'

import type { Tick } from '@/api/schedules'
import { secondsBetween } from '@/format/duration'
import { texts, wordFor } from '@/texts/texts'

/** A scheduled time with the decision about it and its job. */
export interface HistoryEntry {
  readonly tick: Tick
  readonly job: Job | null
  /** The label of the badge: the state of the job, or the decision if no job was started. */
  readonly outcome: string
  /** The duration of the run; null if it has not ended. */
  readonly seconds: number | null
}

/** Return the job that ran last for a time: the newest retry of its run, if there is one. */
export function newestJobOf(tick: Tick): number | null {
  return tick.retried_as ?? tick.job_id
}

/** Combine ticks with the jobs that ran last for them. */
export function historyOf(ticks: readonly Tick[], jobs: readonly Job[]): HistoryEntry[] {
  const known = new Map(jobs.map((job) => [job.id, job]))
  return ticks.map((tick) => {
    const id = newestJobOf(tick)
    const job = id === null ? null : (known.get(id) ?? null)
    return {
      tick,
      job,
      outcome: job === null ? tick.decision : stateOf(job),
      seconds:
        job !== null && hasEnded(job) ? secondsBetween(job.started_on, job.finished_on) : null,
    }
  })
}

/** Return the label of an outcome. */
export function outcomeLabel(outcome: string): string {
  return wordFor(texts.value.schedules.history.outcomes, outcome)
}

/** Return the bars of a small chart of runs, oldest first. Heights are in percent of the longest run. */
export function runBars(
  history: readonly HistoryEntry[],
  limit = 40,
): { key: string; outcome: string; height: number }[] {
  const runs = history.slice(0, limit).reverse()
  const longest = Math.max(...runs.map((each) => each.seconds ?? 0), 0.001)
  return runs.map((each) => ({
    key: each.tick.nominal_time,
    outcome: each.outcome,
    height: Math.max(12, Math.round(((each.seconds ?? 0) / longest) * 100)),
  }))
}
