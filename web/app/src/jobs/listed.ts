import type { Job } from '@horae/vue'

/** A job as the list has it. Events about it lack the line of the error. */
export type ListedJob = Job & {
  /** The line of the error that names the exception; only staff see it. */
  readonly error_line?: string | null
}
