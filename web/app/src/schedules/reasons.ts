import type { Tick } from '@/api/schedules'
import { plural } from '@/format/number'

/** Why each decision was made, in words that answer "why did it not run?". */
const REASONS: Readonly<Record<string, string>> = {
  'fired on_time': 'Started on time.',
  'fired late': 'Started late: nothing could start it at its time.',
  'fired catch_up': 'Started later, to make up for a time that had passed.',
  'fired buffered': 'Started when the run before it had ended.',
  'fired retry': 'Started again after a failure.',
  'fired manual': 'Started by hand.',
  'coalesced late': 'A later run stands for it: nothing could start it at its time.',
  'coalesced catch_up': 'Another run stands for it.',
  'coalesced overlap': 'The run that was still going on stands for it.',
  'skipped overlap': 'Not started: the run before it was still going on.',
  'skipped paused': 'Not started: the schedule was paused.',
  'skipped altered':
    'Not started: the schedule was changed, and this time is none of the new ones.',
  'skipped deployment_gone': 'Not started: the deployment that declared it was gone.',
  'missed limit': 'Missed: more times had passed than may be made up for.',
  'missed window': 'Missed: it was too long ago to be made up for.',
  'missed catch_up_none':
    'Missed: nothing could start it at its time, and missed times are not made up for.',
}

export function reasonText({
  decision,
  reason,
  count,
}: Pick<Tick, 'decision' | 'reason' | 'count'>): string {
  const text = REASONS[`${decision} ${reason}`] ?? `${decision}: ${reason.replaceAll('_', ' ')}`
  return count > 1 ? `${plural(count, 'time')} in a row. ${text}` : text
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'while one runs, times are skipped',
  buffer_one: 'while one runs, one more waits',
  buffer_all: 'while one runs, all others wait',
  cancel_other: 'a new run cancels the one before',
  terminate_other: 'a new run terminates the one before',
  allow_all: 'runs may overlap',
}

const CATCH_UPS: Readonly<Record<string, string>> = {
  last: 'one late run makes up for missed times',
  none: 'missed times are not made up for',
  all: 'every missed time is made up for',
}

/** The policies of a schedule, in words. */
export function policyText(overlap: string, catchUp: string): string {
  return `${OVERLAPS[overlap] ?? overlap}; ${CATCH_UPS[catchUp] ?? catchUp}`
}
