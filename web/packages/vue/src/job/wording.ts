import type { Job } from '../api/model'
import { HoraeError, ERROR_JOB_NOT_CANCELLABLE, Unreachable } from '../client/errors'
import type { Messages } from '../i18n/messages'
import { JOB_STATES } from './states'

/** Puts a job's own label into words; undefined leaves it to the package. */
export type LabelText = (label: string, job: Job) => string | undefined

/** The state of a job for people. A label without words of its own reads as its name: `importing-table` → `Importing table`. */
export function humanReadableState(job: Job, messages: Messages, labelText?: LabelText): string {
  const state = JOB_STATES.find((known) => known === job.state)
  if (state) return messages.states[state]
  return labelText?.(job.state, job) ?? sentenceOf(job.state)
}

function sentenceOf(label: string): string {
  const words = label.replace(/[-_]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** An error for people: what is wrong in a few words, and in a sentence. */
export interface ShownError {
  readonly error: string
  readonly message: string
}

export function shownError(error: unknown, messages: Messages): ShownError {
  if (error instanceof Unreachable) return messages.unreachable
  if (error instanceof HoraeError && error.code === ERROR_JOB_NOT_CANCELLABLE) {
    return messages.notCancellable
  }
  return {
    error: messages.refused,
    message: error instanceof Error ? error.message : String(error),
  }
}
