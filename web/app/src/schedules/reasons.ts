import type { Tick } from '@/api/schedules'
import { plural } from '@/format/number'

/** Explains each decision and reason, to answer the question "why did it not run?". */
const REASONS: Readonly<Record<string, string>> = {
  'fired on_time': 'Started on time.',
  'fired late': 'Started late: no node could start it on time.',
  'fired catch_up': 'Started late, to catch up on a missed time.',
  'fired buffered': 'Started after the previous run ended.',
  'fired retry': 'Retried after a failure.',
  'fired manual': 'Started manually.',
  'fired backfill': 'Run for a past time, by a backfill.',
  'fired moved': 'Started at the time to which the next start was moved.',
  'coalesced late': 'Merged into a later run: no node could start it on time.',
  'coalesced catch_up': 'Merged into a run that catches up on several missed times.',
  'coalesced overlap': 'Merged into the run that was still in progress.',
  'skipped overlap': 'Not started: the previous run was still in progress.',
  'skipped paused': 'Not started: the schedule was paused.',
  'skipped altered':
    'Not started: the schedule was changed, and this time is no longer part of it.',
  'skipped requested': 'Not started: this time was skipped on request.',
  'skipped replaced': 'Not started: the next start was moved once to another time.',
  'skipped excluded': 'Not started: the calendar of the schedule excludes this day.',
  'skipped deployment_gone':
    'Not started: the deployment that declared the schedule no longer exists.',
  'missed limit': 'Missed: more times had passed than the catch-up limit allows.',
  'missed window': 'Missed: it was older than the catch-up window.',
  'missed catch_up_none':
    'Missed: no node could start it on time, and the schedule does not catch up.',
}

export function reasonText({
  decision,
  reason,
  count,
}: Pick<Tick, 'decision' | 'reason' | 'count'>): string {
  const text = REASONS[`${decision} ${reason}`] ?? `${decision}: ${reason.replaceAll('_', ' ')}`
  return count > 1 ? `${plural(count, 'time')} in a row. ${text}` : text
}

const SKIPS: Readonly<Record<string, string>> = {
  excluded: 'excluded by the calendar',
  requested: 'skipped on request',
  replaced: 'replaced by a moved start',
}

/** Explain why a coming time will be skipped. */
export function skipText(reason: string): string {
  return SKIPS[reason] ?? reason.replaceAll('_', ' ')
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'times are skipped while a run is in progress',
  buffer_one: 'one run waits while another is in progress',
  buffer_all: 'runs wait while another is in progress',
  cancel_other: 'a new run cancels the previous one',
  terminate_other: 'a new run terminates the previous one',
  allow_all: 'runs may overlap',
}

const CATCH_UPS: Readonly<Record<string, string>> = {
  last: 'one late run replaces all missed times',
  none: 'missed times are not caught up',
  all: 'every missed time is run late',
}

/** Describe the overlap and catch-up policies of a schedule. */
export function policyText(overlap: string, catchUp: string): string {
  return `${OVERLAPS[overlap] ?? overlap}; ${CATCH_UPS[catchUp] ?? catchUp}`
}
