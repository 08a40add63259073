import type { components } from '@horae/vue'

type Schemas = components['schemas']

export type Overview = Readonly<Schemas['OverviewItem']>
export type Minute = Readonly<Schemas['MinuteItem']>
export type Problem = Readonly<Schemas['ProblemItem']>
export type HoraeNode = Readonly<Schemas['NodeItem']>
export type NodeList = Readonly<Schemas['NodeList']>
export type Queue = Readonly<Schemas['QueueItem']>
export type AuditEntry = Readonly<Schemas['AuditItem']>
export type AuditPage = Readonly<Schemas['AuditList']>
export type Me = Readonly<Schemas['Me']>
