import { HoraeError } from '@horae/vue'

import { errorText } from '@/notices/notices'
import { fieldErrorText, refusalCode, refusalText, type FieldErrors } from '@/texts/sentences'
import type { FieldErrors as FormErrors } from './draft'

/** What a request about a schedule was refused for: at the fields that it concerns, and in general. */
export interface Refusal {
  readonly fields: FormErrors
  /** What concerns no field of the form; empty without it. */
  readonly general: string
  /** Somebody else has changed the schedule since it was opened. */
  readonly conflict: boolean
}

const FIELD_OF_CODE: Readonly<Record<string, string>> = {
  ERROR_CRON_SYNTAX: 'cron',
  ERROR_INVALID_INTERVAL: 'every',
  ERROR_SCHEDULE_ALREADY_EXISTS: 'name',
  ERROR_JOB_TYPE_DOES_NOT_EXIST: 'job_type',
  value_zone: 'timezone', // the code of its sentence: that of its error is one of many
}
const OPTIONS = new Set([
  'timezone',
  'dst_gap',
  'dst_fold',
  'overlap',
  'catch_up',
  'catch_up_limit',
  'catch_up_window',
  'jitter',
  'max_runtime',
  'max_retries',
  'retry_period',
  'backoff',
  'exclude',
  'queue',
  'priority',
  'name',
  'job_type',
  'cron',
  'every',
])
const NONE: Refusal = { fields: {}, general: '', conflict: false }

/** Sort an error by the fields that it concerns. `parameters` are the names of the type's parameters. */
export function refusalOf(error: unknown, parameters: readonly string[]): Refusal {
  if (!(error instanceof HoraeError)) return { ...NONE, general: errorText(error) }
  const { code, detail } = error
  if (code === 'ERROR_SCHEDULE_WAS_CHANGED') return { ...NONE, conflict: true }
  if (typeof detail === 'object' && detail !== null)
    return byField(detail as FieldErrors, parameters)
  const text = typeof detail === 'string' && detail !== '' ? detail : errorText(error)
  const field = FIELD_OF_CODE[refusalCode(error.sentence) ?? ''] ?? FIELD_OF_CODE[code]
  return byText(field, text, refusalText(error.sentence) ?? text)
}

/** An English text about an option begins with its name. */
function byText(field: string | undefined, english: string, text: string): Refusal {
  const first = /^([a-z_]+):? /.exec(english)?.[1] ?? ''
  const option = OPTIONS.has(first) ? first : (field ?? '')
  return OPTIONS.has(option) ? { ...NONE, fields: { [option]: text } } : { ...NONE, general: text }
}

/** A parameter is refused with the code `invalid`; an option of the schedule may have the same name. */
function byField(detail: FieldErrors, parameters: readonly string[]): Refusal {
  const fields: Record<string, string> = {}
  const others: string[] = []
  for (const [path, errors] of Object.entries(detail)) {
    const [first = ''] = path.split('.')
    const text = errors.map(fieldErrorText).join(' ')
    if (parameters.includes(first) && errors.some(({ code }) => code === 'invalid')) {
      fields[`params.${first}`] = text
    } else if (OPTIONS.has(first)) fields[first] = text
    else others.push(`${path}: ${text}`)
  }
  return { ...NONE, fields, general: others.join(' ') }
}
