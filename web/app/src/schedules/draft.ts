import type { SchedulableType, ScheduleBody, ScheduleDetail } from '@/api/schedules'
import { parameterInputs, paramsOf, type ParameterInput } from './parameterInputs'

export type TriggerKind = 'cron' | 'interval' | 'once'

/** A schedule as it is typed into the form: texts, which may not be valid yet. */
export interface ScheduleDraft {
  name: string
  jobType: string
  kind: TriggerKind
  cron: string
  every: string
  fixed: boolean
  /** Date and time by the clock of `timezone`, as an input has them: `2026-12-24T18:00`. */
  once: string
  timezone: string
  dstGap: string
  dstFold: string
  overlap: string
  catchUp: string
  catchUpLimit: string
  catchUpWindow: string
  jitter: string
  maxRuntime: string
  maxRetries: string
  retryPeriod: string
  backoff: string
  /** One entry a line. */
  exclude: string
  queue: string
  priority: string
  enabled: boolean
  /** Parameters by name, as typed: texts, and JSON where an input cannot show them. */
  params: Record<string, string>
}

/** A field of the form, for errors that belong to it: an option of the API or `params.NAME`. */
export type FieldErrors = Readonly<Record<string, string>>

export function emptyDraft(timezone: string): ScheduleDraft {
  return {
    name: '',
    jobType: '',
    kind: 'cron',
    cron: '',
    every: '',
    fixed: false,
    once: '',
    timezone,
    dstGap: 'shift',
    dstFold: 'first',
    overlap: 'skip',
    catchUp: 'last',
    catchUpLimit: '100',
    catchUpWindow: '7 days',
    jitter: '',
    maxRuntime: '',
    maxRetries: '',
    retryPeriod: '',
    backoff: 'exponential',
    exclude: '',
    queue: '',
    priority: '',
    enabled: true,
    params: {},
  }
}

/** The options that follow the text of a stored trigger: `0 3 * * *; dst_gap=skip`. */
function triggerParts(text: string): { body: string; options: Map<string, string> } {
  const [body = '', ...rest] = text.split(';').map((part) => part.trim())
  return {
    body,
    options: new Map(
      rest.map((part) => {
        const at = part.indexOf('=')
        return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
      }),
    ),
  }
}

const ONCE = /^(\d+) (\d+) (\d+) (\d+) (\d+) \* (\d{4})$/

/** Return date and time of an expression that names a single moment, as an input has them. */
export function onceOf(cron: string): string | null {
  const match = ONCE.exec(cron)
  if (match === null) return null
  const [second, minute, hour, day, month, year] = match.slice(1) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const two = (text: string): string => text.padStart(2, '0')
  const seconds = Number(second) > 0 ? `:${two(second)}` : ''
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}${seconds}`
}

/** Return the expression of seven fields that names this date and time; empty for an invalid one. */
export function onceAsCron(once: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?/.exec(once)
  if (match === null) return ''
  const [year, month, day, hour, minute, second = '0'] = match
    .slice(1)
    .map((part: string | undefined) => (part === undefined ? '0' : String(Number(part))))
  return `${second} ${minute} ${hour} ${day} ${month} * ${year}`
}

/** Return what the form shows of a schedule, to edit or to duplicate it. */
export function draftOf(schedule: ScheduleDetail): ScheduleDraft {
  const { body, options } = triggerParts(schedule.trigger.text)
  const once = schedule.trigger.kind === 'cron' ? onceOf(body) : null
  const seconds = (value: number | null): string => (value ? `${value}s` : '')
  return {
    ...emptyDraft(schedule.timezone),
    name: schedule.name,
    jobType: schedule.job_type,
    kind: once !== null ? 'once' : schedule.trigger.kind,
    cron: schedule.trigger.kind === 'cron' ? body : '',
    every: schedule.trigger.kind === 'interval' ? body : '',
    fixed: options.has('fixed'),
    once: once ?? '',
    dstGap: options.get('dst_gap') ?? 'shift',
    dstFold: options.get('dst_fold') ?? 'first',
    overlap: schedule.overlap,
    catchUp: schedule.catch_up,
    catchUpLimit: String(schedule.catch_up_limit),
    catchUpWindow: windowText(schedule.catch_up_window_seconds),
    jitter: seconds(schedule.jitter_seconds),
    maxRuntime: seconds(schedule.max_runtime_seconds),
    maxRetries: schedule.max_retries === null ? '' : String(schedule.max_retries),
    retryPeriod: schedule.retry_period ?? '',
    backoff: schedule.backoff,
    exclude: schedule.exclude.join('\n'),
    queue: schedule.queue,
    priority: String(schedule.priority),
    enabled: schedule.enabled,
    params: textsOf(schedule.params),
  }
}

function windowText(seconds: number): string {
  return seconds % 86_400 === 0 ? `${seconds / 86_400} days` : `${seconds}s`
}

function textsOf(params: unknown): Record<string, string> {
  if (typeof params !== 'object' || params === null) return {}
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

/** Return the trigger of a draft as the API takes it; undefined while nothing is entered. */
export function triggerBody(draft: ScheduleDraft): ScheduleBody | undefined {
  const timezone = draft.timezone.trim() || 'UTC'
  if (draft.kind === 'interval') {
    const every = draft.every.trim()
    return every === '' ? undefined : { every, timezone, fixed: draft.fixed }
  }
  const cron = draft.kind === 'once' ? onceAsCron(draft.once) : draft.cron.trim()
  if (cron === '') return undefined
  return { cron, timezone, dst_gap: draft.dstGap, dst_fold: draft.dstFold }
}

export function excludedOf(draft: ScheduleDraft): string[] {
  return draft.exclude
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Return the options besides the trigger. An interval that is counted from the end of a run has no policies for missed times. */
function ruleBody(draft: ScheduleDraft): Record<string, unknown> {
  const drifts = draft.kind === 'interval' && !draft.fixed
  return {
    backoff: draft.backoff,
    exclude: excludedOf(draft),
    overlap: drifts ? 'skip' : draft.overlap,
    catch_up: drifts ? 'last' : draft.catchUp,
    max_retries: draft.maxRetries.trim() === '' ? null : numberOf(draft.maxRetries),
    ...entered({ catch_up_limit: draft.catchUpLimit, priority: draft.priority }, numberOf),
    ...entered({
      catch_up_window: draft.catchUpWindow,
      jitter: draft.jitter,
      max_runtime: draft.maxRuntime,
      retry_period: draft.retryPeriod,
      queue: draft.queue,
    }),
  }
}

/** Return the options that have a text; empty ones have their default, or keep their value. */
function entered(
  texts: Readonly<Record<string, string>>,
  convert: (text: string) => number | string = (text) => text,
): Record<string, number | string> {
  const given = Object.entries(texts).filter(([, text]) => text.trim() !== '')
  return Object.fromEntries(given.map(([name, text]) => [name, convert(text.trim())]))
}

/** Return the number of a text, or the text itself: the server says what is wrong with it. */
function numberOf(text: string): number | string {
  const value = Number(text.trim())
  return Number.isInteger(value) ? value : text.trim()
}

/** Return the body of a new schedule. */
export function newBody(draft: ScheduleDraft, type: SchedulableType | undefined): ScheduleBody {
  const inputs = inputsOf(type)
  return {
    job_type: draft.jobType,
    ...(draft.name.trim() !== '' && { name: draft.name.trim() }),
    enabled: draft.enabled,
    ...ruleBody(draft),
    ...triggerBody(draft),
    ...(inputs.length > 0 && { params: paramsOf(inputs, draft.params) }),
  }
}

/** Return what differs between a draft and the one that was opened, as the API takes it. */
export function changedBody(
  draft: ScheduleDraft,
  opened: ScheduleDraft,
  type: SchedulableType | undefined,
): ScheduleBody {
  const [now, before] = [ruleBody(draft), ruleBody(opened)]
  const body: Record<string, unknown> = Object.fromEntries(
    Object.entries(now).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  )
  const trigger = triggerBody(draft)
  if (JSON.stringify(trigger) !== JSON.stringify(triggerBody(opened))) Object.assign(body, trigger)
  if (JSON.stringify(draft.params) !== JSON.stringify(opened.params)) {
    body['params'] = paramsOf(inputsOf(type), draft.params)
  }
  return body
}

export function inputsOf(type: SchedulableType | undefined): readonly ParameterInput[] {
  return type === undefined ? [] : parameterInputs(type.parameters)
}
