import type { components } from '@horae/vue'

import { client } from './server'

type Schemas = components['schemas']

export type Schedule = Readonly<Schemas['ScheduleItem']>
export type ScheduleDetail = Readonly<Schemas['ScheduleDetail']>
/** A page of schedules, ordered by module and name. `next` is the cursor of the next page, or null on the last page. */
export type SchedulePage = Readonly<Schemas['ScheduleList']>
/** The decision about a scheduled time, or about several consecutive times. */
export type Tick = Readonly<Schemas['TickItem']>
export type TickList = Readonly<Schemas['TickList']>
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
}

const { json } = client.transport

export const schedules = {
  list: ({ name, enabled, cursor, limit }: ScheduleQuery, signal?: AbortSignal) =>
    json<SchedulePage>('GET', '/api/schedules/', {
      query: { name, enabled: enabled === null ? null : String(enabled), cursor, limit },
      signal,
    }),
  get: (id: number, signal?: AbortSignal) =>
    json<ScheduleDetail>('GET', `/api/schedules/${id}/`, { signal }),
  ticks: (id: number, limit: number, signal?: AbortSignal) =>
    json<TickList>('GET', `/api/schedules/${id}/ticks/`, { query: { limit }, signal }),
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
