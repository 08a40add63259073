import { jobsOfEvent, type ServerSentEvent } from '@horae/vue'

import type { Schedule } from '@/api/schedules'

/** What an event of the server says about schedules. */
export interface ScheduleNews {
  /** The schedule as it is now. */
  readonly schedule: Schedule | null
  /** The id of one that was deleted. */
  readonly gone: number | null
  /** Changes went by untold, so whoever shows schedules must read them. */
  readonly missed: boolean
}

const NOTHING: ScheduleNews = { schedule: null, gone: null, missed: false }

/** Read an event; of other things, or not understood, it is no news. */
export function newsOf(event: ServerSentEvent): ScheduleNews {
  // What is missed is the same for whatever is shown.
  if (jobsOfEvent(event).missed) return { ...NOTHING, missed: true }
  if (event.type !== 'schedule' && event.type !== 'schedule_gone') return NOTHING
  const body = parsed(event.data)
  if (typeof body?.['id'] !== 'number') return NOTHING
  return event.type === 'schedule'
    ? { ...NOTHING, schedule: body as unknown as Schedule }
    : { ...NOTHING, gone: body['id'] }
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null
  } catch {
    return null
  }
}
