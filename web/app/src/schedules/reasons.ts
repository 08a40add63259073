import type { Tick } from '@/api/schedules'
import { texts, wordFor } from '@/texts/texts'

/** Explain a decision about a time, or about several in a row. */
export function reasonText({
  decision,
  reason,
  count,
}: Pick<Tick, 'decision' | 'reason' | 'count'>): string {
  const words = texts.value.schedules
  const key = `${decision} ${reason}`
  const text = words.reasons[key] ?? `${decision}: ${reason.replaceAll('_', ' ')}`
  return count > 1 ? words.several(count, text) : text
}

/** Explain why a coming time will be skipped. */
export function skipText(reason: string): string {
  return texts.value.schedules.skips[reason] ?? reason.replaceAll('_', ' ')
}

/** Describe the overlap and catch-up policies of a schedule. */
export function policyText(overlap: string, catchUp: string): string {
  const { overlaps, catchUps } = texts.value.schedules
  return `${wordFor(overlaps, overlap)}; ${wordFor(catchUps, catchUp)}`
}
