import type { components } from '@horae/vue'

type Schemas = components['schemas']

export type Overview = Readonly<Schemas['OverviewItem']>
export type Minute = Readonly<Schemas['MinuteItem']>
export type Problem = Readonly<Schemas['ProblemItem']>
export type HoraeNode = Readonly<Schemas['NodeItem']>
export type NodeList = Readonly<Schemas['NodeList']>
export type DeadNode = Readonly<Schemas['DeadNodeItem']>
export type Queue = Readonly<Schemas['QueueItem']>
/** The figures of a time in equal steps. */
export type HistorySeries = Readonly<Schemas['HistorySeries']>
export type QueueHistory = Readonly<Schemas['QueueHistoryList']>
/** The course of one queue: what waited, what ended, and since when it is behind. */
export type QueueCourse = Readonly<Schemas['QueueCourseItem']>
export type TypeHistory = Readonly<Schemas['TypeHistoryList']>
export type TypeCourse = Readonly<Schemas['TypeCourseItem']>
/** What ended in a time, and how long it waited and ran. */
export type Totals = Readonly<Schemas['TotalsItem']>
/** Why a job has not started, or what has become of it. */
export type JobWhy = Readonly<Schemas['JobWhyItem']>
/** Whether all queues and the firing of schedules are paused. */
export type Everything = Readonly<Schemas['EverythingItem']>
/** Failures that have one cause. */
export type ErrorGroup = Readonly<Schemas['ErrorGroupItem']>
/** How many jobs are in a state. */
export type StateCount = Readonly<Schemas['StateCount']>
/** Which failures are grouped. */
export interface ErrorQuery {
  readonly since?: string
  readonly type: string | null
  /** The key of the deployment since which failures count. */
  readonly deployment?: string
  readonly only_new?: boolean
}
export type ErrorList = Readonly<Schemas['ErrorList']>
/** A limit by key, with what it holds back. */
export type KeyLimit = Readonly<Schemas['LimitItem']>
/** New numbers of a limit by key: starts per period, or jobs at a time. */
export type LimitNumbers =
  | { readonly rate: string; readonly burst?: number }
  | { readonly rate: string; readonly window: 'sliding' }
  | { readonly concurrency: number }
/** Jobs that are watched and cancelled together. */
export type Group = Readonly<Schemas['GroupView']>
/** A line that a job has logged. */
export type LogLine = Readonly<Schemas['LogLineView']>
/** Log lines of a job, the oldest first. */
export type LogPage = Readonly<Schemas['LogLines']>
export type AuditEntry = Readonly<Schemas['AuditItem']>
export type AuditPage = Readonly<Schemas['AuditList']>
export type Me = Readonly<Schemas['Me']>
