import type { Job, JobDetail } from '@horae/vue'

/** A job as the list has it. Events about it lack the line of the error. */
export type ListedJob = Job & {
  /** The line of the error that names the exception; only staff see it. */
  readonly error_line?: string | null
}

/** A job as its page has it. */
export type ShownJob = JobDetail & {
  /** The newest job that retries it. */
  readonly retried_as?: number | null
}
