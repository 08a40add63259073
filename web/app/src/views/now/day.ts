import type { AuditEntry, HistorySeries } from '@/api/model'
import { server } from '@/api/server'
import { timesOf } from '@/charts/history'
import { texts, wordFor } from '@/texts/texts'

const DAY = 86_400_000
/** At most as many steps: one of ten minutes is a few pixels wide. */
const POINTS = 150

/** What is marked on the axis, by the action of the journal that it comes from. */
const MARKED: Readonly<Record<string, MarkKind>> = {
  'deployment.deploy': 'deployment',
  'everything.pause': 'pause',
  'everything.resume': 'resume',
  'queue.pause': 'pause',
  'queue.resume': 'resume',
  'schedule.pause': 'pause',
  'schedule.resume': 'resume',
  'node.died': 'death',
}

export type MarkKind = 'deployment' | 'pause' | 'resume' | 'death'

/** Something that happened and may explain a change of the figures. */
export interface Mark {
  readonly id: number
  readonly kind: MarkKind
  readonly at: string
  /** Unix time in seconds. */
  readonly time: number
  readonly target: string
}

/** The figures of the last day and what happened in it. */
export interface Day {
  readonly history: HistorySeries
  readonly marks: readonly Mark[]
}

export async function readDay(signal?: AbortSignal): Promise<Day> {
  const since = new Date(Date.now() - DAY).toISOString()
  const [history, changes] = await Promise.all([
    server.history({ scope: 'everything', name: null, span: '24h', points: POINTS }, signal),
    server.audit({ since, action: Object.keys(MARKED).join(',') }, signal),
  ])
  return { history, marks: marksOf(changes.entries) }
}

/** Return the marks of the changes that were made, the latest first. */
export function marksOf(entries: readonly AuditEntry[]): Mark[] {
  return entries.flatMap(({ id, at, action, target, target_name: name, outcome }) => {
    const kind = MARKED[action]
    return kind === undefined || outcome !== 'done'
      ? []
      : [{ id, kind, at, time: Date.parse(at) / 1000, target: nameOf(action, name ?? target) }]
  })
}

function nameOf(action: string, target: string): string {
  const [noun = ''] = action.split('.')
  const words = texts.value.now.about
  if (noun === 'everything') return words.everything()
  return noun === 'queue' || noun === 'schedule' || noun === 'node' ? words[noun](target) : target
}

export function markText({ kind, target }: Mark): string {
  return `${wordFor(texts.value.now.markKinds, kind)}: ${target}`
}

export interface Hour {
  readonly time: number
  readonly finished: number
  readonly failed: number
  /** The most jobs that waited at a time. */
  readonly waiting: number | null
}

/** Return the figures by hours, for those who read a table. */
export function hoursOf(history: HistorySeries): Hour[] {
  const hours = new Map<number, Hour>()
  timesOf(history).forEach((time, index) => {
    const hour = Math.floor(time / 3600) * 3600
    const known = hours.get(hour) ?? { time: hour, finished: 0, failed: 0, waiting: null }
    const waiting = history.waiting[index] ?? null
    hours.set(hour, {
      time: hour,
      finished: known.finished + (history.finished[index] ?? 0),
      failed: known.failed + (history.failed[index] ?? 0),
      waiting: waiting === null ? known.waiting : Math.max(known.waiting ?? 0, waiting),
    })
  })
  return [...hours.values()]
}
