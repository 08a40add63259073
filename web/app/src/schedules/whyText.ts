import { messagesFor } from '@horae/vue'

import type { Why } from '@/api/schedules'
import { durationText, secondsBetween } from '@/format/duration'
import { momentText } from '@/format/moment'
import { language } from '@/texts/locale'
import { wordFor, type Texts } from '@/texts/texts'

type Words = Texts['schedules']

/** Say why a schedule did or did not run, in the language of the reader. */
export function whyText(why: Why, words: Words): string {
  const sentences = [REASONS[why.kind](why, words), pauseOf(why, words), nodesOf(why, words)]
  return sentences.filter(Boolean).join(' ')
}

const REASONS: Readonly<Record<Why['kind'], (why: Why, words: Words) => string>> = {
  decided: decisionOf,
  to_come: (why, words) => words.why.kinds.to_come(momentText(why.start_on)),
  will_be_skipped: (why, words) =>
    words.why.kinds.will_be_skipped(wordFor(words.skips, why.reason ?? '')),
  wait_after_crash: (why, words) => words.why.kinds.wait_after_crash(momentText(why.start_on)),
  disabled: (why, words) => wordFor(words.why.disabled, why.disabled_reason ?? ''),
  overdue: (why, words) =>
    words.why.kinds.overdue(durationText(secondsBetween(why.start_on, Date.now()))),
  run_in_progress: (why, words) => words.why.kinds.run_in_progress(why.blocked_by ?? 0),
  not_a_time: (_why, words) => words.why.kinds.not_a_time,
  no_fixed_times: (_why, words) => words.why.kinds.no_fixed_times,
  not_created_yet: (why, words) => words.why.kinds.not_created_yet(momentText(why.after)),
  everything_paused: (_why, words) => words.why.kinds.everything_paused,
  other_rules: (_why, words) => words.why.kinds.other_rules,
  forgotten: (_why, words) => words.why.kinds.forgotten,
}

function decisionOf(why: Why, words: Words): string {
  const text = wordFor(words.reasons, `${why.decision ?? ''} ${why.reason ?? ''}`)
  const late =
    why.decision === 'fired' && why.reason === 'late'
      ? ` ${words.why.lateBy(durationText(secondsBetween(why.nominal_time, why.decided_on)))}`
      : ''
  const others = (why.count ?? 1) - 1
  const beside = others > 0 ? ` ${words.why.beside(others)}` : ''
  const job = why.job_id === null ? '' : ` ${jobOf(why.job_id, why.job_state, words)}`
  return `${text}${late}${beside}${job}`
}

function jobOf(id: number, state: string | null, words: Words): string {
  if (state === null) return words.why.jobGone(id)
  return words.why.jobIs(id, wordFor(messagesFor(language.value).states, state))
}

function pauseOf(why: Why, words: Words): string {
  if (why.paused_by === null || why.paused_on === null) return ''
  return words.why.pausedBy(why.paused_by, momentText(why.paused_on))
}

function nodesOf(why: Why, words: Words): string {
  if (why.no_node_from === null && why.no_node_until === null) return ''
  const from = why.no_node_from === null ? null : momentText(why.no_node_from)
  const until = why.no_node_until === null ? null : momentText(why.no_node_until)
  return words.why.noNode(from, until)
}

/** Return the times of the schedule before and after a moment that is none of them. */
export function nearestTimes({ kind, before, after }: Why): string[] {
  if (kind !== 'not_a_time' && kind !== 'no_fixed_times') return []
  return [before, after].filter((each) => each !== null)
}
