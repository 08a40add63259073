import { client } from './server'

/** A schedule in a list. */
export interface Schedule {
  readonly id: number
  readonly name: string
  /** The module that declares it; empty for one that was added at run time. */
  readonly module: string
  readonly job_type: string
  readonly trigger: { readonly kind: 'cron' | 'interval'; readonly text: string }
  readonly timezone: string
  /** The trigger in a sentence. */
  readonly words: string
  readonly queue: string
  readonly priority: number
  readonly state: string
  readonly enabled: boolean
  readonly disabled_reason: string | null
  readonly pause_note: string | null
  /** The job of the run that goes on. */
  readonly job_id: number | null
  readonly next_start_on: string | null
  readonly statistics: ScheduleStatistics
}

/** How the runs of a schedule went: runs are successes, failures and crashes. */
export interface ScheduleStatistics {
  readonly last_start_on: string | null
  readonly last_finish_on: string | null
  readonly last_successful_finish_on: string | null
  readonly last_run_success: boolean | null
  readonly total_runs: number
  readonly total_successes: number
  readonly total_failures: number
  readonly total_crashes: number
  readonly mean_duration_seconds: number | null
  readonly consecutive_failures: number
  readonly consecutive_crashes: number
}

/** A schedule on its own page. */
export interface ScheduleDetail extends Schedule {
  readonly params: unknown
  readonly overlap: string
  readonly catch_up: string
  readonly jitter_seconds: number
  readonly max_runtime_seconds: number | null
  readonly max_retries: number | null
  /** Its next times, as far as they are known. */
  readonly next_runs: readonly string[]
}

/** What was decided about a nominal time, or about several in a row. */
export interface Tick {
  readonly nominal_time: string
  readonly until: string
  readonly count: number
  readonly decision: string
  readonly reason: string
  readonly job_id: number | null
  readonly decided_on: string
  readonly decided_by: string | null
}

/** One version of a module's declared schedules. */
export interface Deployment {
  readonly key: string
  readonly module: string
  readonly schema: string
  readonly min_replicas: number
  readonly created_on: string
  readonly ended_on: string | null
  readonly replaced_by: string | null
}

const { json } = client.transport

export const schedules = {
  list: async (signal?: AbortSignal) =>
    (await json<{ schedules: Schedule[] }>('GET', '/api/schedules/', { signal })).schedules,
  get: (id: number, signal?: AbortSignal) =>
    json<ScheduleDetail>('GET', `/api/schedules/${id}/`, { signal }),
  ticks: async (id: number, signal?: AbortSignal) =>
    (await json<{ ticks: Tick[] }>('GET', `/api/schedules/${id}/ticks/`, { signal })).ticks,
  pause: (id: number, note: string | null) =>
    json<ScheduleDetail>('POST', `/api/schedules/${id}/pause/`, { body: { note } }),
  resume: (id: number) => json<ScheduleDetail>('POST', `/api/schedules/${id}/resume/`),
  runNow: (id: number) => json<{ id: number }>('POST', `/api/schedules/${id}/run/`),
} as const

export const deployments = {
  list: async (signal?: AbortSignal) =>
    (await json<{ deployments: Deployment[] }>('GET', '/api/deployments/', { signal })).deployments,
} as const
