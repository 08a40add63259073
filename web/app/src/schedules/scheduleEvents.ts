import { parseJobEvent, type ServerSentEvent } from '@horae/vue'

import type { Schedule } from '@/api/schedules'

/** What a server-sent event changes about schedules. */
export interface ScheduleChanges {
  /** The schedule after the change. */
  readonly schedule: Schedule | null
  /** The id of a deleted schedule. */
  readonly gone: number | null
  /** Events were lost, so the schedules on the page must be read again. */
  readonly missed: boolean
}

const NO_CHANGES: ScheduleChanges = { schedule: null, gone: null, missed: false }

/** Parse an event. Events about other things or with invalid content change nothing. */
export function parseScheduleEvent(event: ServerSentEvent): ScheduleChanges {
  // Lost events may be about anything, so jobs and schedules share this rule.
  if (parseJobEvent(event).missed) return { ...NO_CHANGES, missed: true }
  if (event.type !== 'schedule' && event.type !== 'schedule_gone') return NO_CHANGES
  const body = parseObject(event.data)
  if (typeof body?.['id'] !== 'number') return NO_CHANGES
  return event.type === 'schedule'
    ? { ...NO_CHANGES, schedule: body as unknown as Schedule }
    : { ...NO_CHANGES, gone: body['id'] }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Record<string, unknown> | null
  } catch {
    return null
  }
}
