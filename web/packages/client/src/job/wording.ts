import type { Job } from '../api/model'
import { HoraeError, ERROR_JOB_NOT_CANCELLABLE, Unreachable } from '../client/errors'
import type { Messages } from '../i18n/messages'
import { labelOf, stateOf } from './states'

/** Converts a label of a job into a text for the user. Returns undefined to use the default text. */
export type LabelText = (label: string, job: Job) => string | undefined

/**
 * Return the state of a job as a text for the user. The default text of a label is its name: `importing-table` →
 * `Importing table`.
 */
export function humanReadableState(job: Job, messages: Messages, labelText?: LabelText): string {
  return labelTextOf(job, labelText) || messages.states[stateOf(job)]
}

/** Return the label of a running job as a text for the user, apart from its state; empty if it has none. */
export function labelTextOf(job: Job, labelText?: LabelText): string {
  const label = labelOf(job)
  return label === null ? '' : (labelText?.(label, job) ?? sentenceOf(label))
}

function sentenceOf(label: string): string {
  const words = label.replace(/[-_]+/g, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** An error as shown to the user: a short title and a message. */
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

/** Return the reason of an error as a text. An error code is used only if there is nothing else. */
function reasonOf(error: unknown): string {
  if (!(error instanceof HoraeError)) return error instanceof Error ? error.message : String(error)
  const { detail, code, status } = error
  if (typeof detail === 'string' && detail !== '') return detail
  const fieldErrors = typeof detail === 'string' ? [] : fieldErrorsOf(detail)
  return fieldErrors.length > 0
    ? fieldErrors.join('; ')
    : `the server answered with ${status} (${code})`
}

/** Return the errors of an invalid request body, one text for each field. */
function fieldErrorsOf(detail: unknown, name = ''): string[] {
  if (typeof detail === 'string') return [name === '' ? detail : `${name}: ${detail}`]
  if (Array.isArray(detail)) return detail.flatMap((each) => fieldErrorsOf(each, name))
  if (typeof detail !== 'object' || detail === null) return []
  if ('error' in detail && typeof detail.error === 'string')
    return fieldErrorsOf(detail.error, name)
  return Object.entries(detail).flatMap(([field, each]) =>
    fieldErrorsOf(each, name === '' ? field : `${name}.${field}`),
  )
}

/** Add a full stop unless the text already ends a sentence. */
function sentence(text: string): string {
  const words = text.trim()
  return /[.!?…]$/.test(words) ? words : `${words}.`
}
