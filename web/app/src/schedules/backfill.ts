import type { BackfillRange, BackfillResult, Schedule } from '@/api/schedules'
import { localInput, momentOfInput } from '@/format/moment'
import { texts } from '@/texts/texts'

const DAY = 86_400_000

/** Return whether a schedule has nominal times; an interval that is counted from the end of a run has none. */
export function hasNominalTimes({ trigger }: Pick<Schedule, 'trigger'>): boolean {
  return trigger.kind === 'cron' || /; ?fixed\b/.test(trigger.text)
}

/** Return the range that is offered first, as inputs of local dates and times: the day before `now`. */
export function lastDay(now: number): { from: string; to: string } {
  return { from: localInput(now - DAY), to: localInput(now) }
}

/** Parse two local dates and times. Returns undefined unless both are valid and in this order. */
export function rangeOf(from: string, to: string): BackfillRange | undefined {
  const start = momentOfInput(from)
  const end = momentOfInput(to)
  return start < end ? { start: start.toISOString(), end: end.toISOString() } : undefined
}

/** Describe what a backfill would add. */
export function previewText({ added, known, excluded }: BackfillResult): string {
  return texts.value.schedules.backfill.preview(added, known, excluded)
}
