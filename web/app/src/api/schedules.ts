import type { components } from '@horae/vue'

import type { AuditPage } from './model'
import { client } from './server'

type Schemas = components['schemas']

export type Schedule = Readonly<Schemas['ScheduleItem']>
export type ScheduleDetail = Readonly<Schemas['ScheduleDetail']>
/** A page of schedules, ordered by module and name. `next` is the cursor of the next page, or null on the last page. */
export type SchedulePage = Readonly<Schemas['ScheduleList']>
/** The decision about a scheduled time, or about several consecutive times. */
export type Tick = Readonly<Schemas['TickItem']>
export type TickList = Readonly<Schemas['TickList']>
/** What became of the times of the schedules of a page, and what comes next. */
export type LaneList = Readonly<Schemas['LaneList']>
export type Lane = Readonly<Schemas['LaneItem']>
export type LaneMark = Readonly<Schemas['MarkItem']>
/** Why a schedule did or did not run at a moment. */
export type Why = Readonly<Schemas['WhyItem']>
/** What a trigger means, in words and as its next times. */
export type Preview = Readonly<Schemas['PreviewItem']>
export type ClockChange = Readonly<Schemas['ClockChangeItem']>
/** A job type that a schedule may start. */
export type SchedulableType = Readonly<Schemas['SchedulableType']>
/** The body of a request about a schedule: omitted options keep their value or have their default. */
export type ScheduleBody = Readonly<Record<string, unknown>>
/** A range of past times to run a schedule for, `start <= time < end`. */
export type BackfillRange = Pick<Schemas['BackfillRange'], 'start' | 'end'>
/** What a backfill added, or would add. */
export type BackfillResult = Readonly<Schemas['BackfillResult']>
/** One version of the schedules that a module declares. */
export type Deployment = Readonly<Schemas['DeploymentItem']>

/** A filter for the list of schedules. Null fields do not filter. */
export interface ScheduleQuery {
  readonly name: string | null
  readonly enabled: boolean | null
  readonly cursor: string | null
  /** The most schedules on a page; the server's default if it is omitted. */
  readonly limit?: number
  /** Whether schedules whose last run failed come first. */
  readonly failingFirst?: boolean
}

/** A part of the ledger: null fields do not filter. */
export interface LedgerQuery {
  readonly before: string | null
  readonly decisions: string | null
}

const { json } = client.transport

export const schedules = {
  list: ({ name, enabled, cursor, limit, failingFirst }: ScheduleQuery, signal?: AbortSignal) =>
    json<SchedulePage>('GET', '/api/schedules/', {
      query: {
        name,
        enabled: enabled === null ? null : String(enabled),
        cursor,
        limit,
        failing_first: failingFirst === true ? 'true' : null,
      },
      signal,
    }),
  get: (id: number, signal?: AbortSignal) =>
    json<ScheduleDetail>('GET', `/api/schedules/${id}/`, { signal }),
  ticks: (id: number, limit: number, query: LedgerQuery, signal?: AbortSignal) =>
    json<TickList>('GET', `/api/schedules/${id}/ticks/`, { query: { limit, ...query }, signal }),
  /** Read the lanes of all schedules of a page at once. */
  lanes: (ids: readonly number[], hours: number, signal?: AbortSignal) =>
    json<LaneList>('GET', '/api/schedules/lanes/', {
      query: { ids: ids.join(','), hours },
      signal,
    }),
  /** Ask why it did or did not run at a moment; at its last time if none is given. */
  why: (id: number, at: string | null, signal?: AbortSignal) =>
    json<Why>('GET', `/api/schedules/${id}/why/`, { query: { at }, signal }),
  changes: (id: number, cursor: string | null, signal?: AbortSignal) =>
    json<AuditPage>('GET', '/api/audit/', {
      query: { kind: 'schedule', target: id, cursor, limit: 50 },
      signal,
    }),
  types: async (signal?: AbortSignal) =>
    (await json<{ types: SchedulableType[] }>('GET', '/api/schedules/types/', { signal })).types,
  preview: (trigger: ScheduleBody, signal?: AbortSignal) =>
    json<Preview>('POST', '/api/schedules/preview/', { body: trigger, signal }),
  add: (schedule: ScheduleBody) =>
    json<ScheduleDetail>('POST', '/api/schedules/', { body: schedule }),
  alter: (id: number, changes: ScheduleBody) =>
    json<ScheduleDetail>('PATCH', `/api/schedules/${id}/`, { body: changes }),
  delete: (id: number) => json<undefined>('DELETE', `/api/schedules/${id}/`),
  pause: (id: number, note: string | null) =>
    json<ScheduleDetail>('POST', `/api/schedules/${id}/pause/`, { body: { note } }),
  resume: (id: number) => json<ScheduleDetail>('POST', `/api/schedules/${id}/resume/`),
  /** Take back what was changed at run time: the schedule is as it is declared. */
  reset: (id: number) => json<ScheduleDetail>('POST', `/api/schedules/${id}/reset/`),
  skipNext: (id: number) => json<ScheduleDetail>('POST', `/api/schedules/${id}/skip/`),
  undoSkip: (id: number) => json<ScheduleDetail>('DELETE', `/api/schedules/${id}/skip/`),
  runNow: (id: number) => json<{ id: number }>('POST', `/api/schedules/${id}/run/`),
  backfill: (id: number, range: BackfillRange) =>
    json<BackfillResult>('POST', `/api/schedules/${id}/backfill/`, { body: range }),
  /** Count what a backfill would add, and add nothing. */
  previewBackfill: (id: number, range: BackfillRange, signal?: AbortSignal) =>
    json<BackfillResult>('POST', `/api/schedules/${id}/backfill/`, {
      body: { ...range, dry_run: true },
      signal,
    }),
  /** Remove the past times that still wait to be run. */
  undoBackfill: (id: number) =>
    json<{ removed: number }>('DELETE', `/api/schedules/${id}/backfill/`),
} as const

export const deployments = {
  list: async (signal?: AbortSignal) =>
    (await json<{ deployments: Deployment[] }>('GET', '/api/deployments/', { signal })).deployments,
  scale: (key: string, replicas: number) =>
    json<Deployment>('POST', `/api/deployments/${encodeURIComponent(key)}/scale/`, {
      body: { min_replicas: replicas },
    }),
  end: (key: string) =>
    json<Deployment>('POST', `/api/deployments/${encodeURIComponent(key)}/end/`),
} as const
