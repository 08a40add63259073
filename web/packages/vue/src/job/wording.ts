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
  return { error: messages.refused, message: sentence(reasonOf(error)) }
}

/** Why something was refused, in words; a code only where there is nothing else. */
function reasonOf(error: unknown): string {
  if (!(error instanceof HoraeError)) return error instanceof Error ? error.message : String(error)
  const { detail, code, status } = error
  if (typeof detail === 'string' && detail !== '') return detail
  const faults = typeof detail === 'string' ? [] : faultsOf(detail)
  return faults.length > 0 ? faults.join('; ') : `the server answered with ${status} (${code})`
}

/** What is wrong with each field of a body that was refused. */
function faultsOf(detail: unknown, name = ''): string[] {
  if (typeof detail === 'string') return [name === '' ? detail : `${name}: ${detail}`]
  if (Array.isArray(detail)) return detail.flatMap((each) => faultsOf(each, name))
  if (typeof detail !== 'object' || detail === null) return []
  if ('error' in detail && typeof detail.error === 'string') return faultsOf(detail.error, name)
  return Object.entries(detail).flatMap(([field, each]) =>
    faultsOf(each, name === '' ? field : `${name}.${field}`),
  )
}

/** With a full stop where there is none. */
function sentence(text: string): string {
  const words = text.trim()
  return /[.!?…]$/.test(words) ? words : `${words}.`
}
