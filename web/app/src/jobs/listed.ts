import type { Job, JobDetail } from '@horae/vue'

/** A job as the list has it. Events about it lack its error. */
export type ListedJob = Job & {
  /** The line of the error that names the exception; only staff see it. */
  readonly error_line?: string | null
  /** The error, if Horae itself has written it. */
  readonly error_sentence?: JobDetail['error_sentence']
}
