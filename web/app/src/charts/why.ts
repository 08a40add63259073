import type { LocationQueryRaw, RouteLocationRaw } from 'vue-router'

import type { HistorySeries } from '@/api/model'
import { texts } from '@/texts/texts'
import { lastRecorded, timesOf, type Measure } from './history'

/** Of what a chart is. */
export interface ChartScope {
  readonly scope: 'everything' | 'queue' | 'type'
  readonly name: string | null
}

/** Write a moment as the search of jobs reads it. */
function searched(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}

/** Return the state of the jobs that a series counts, by its label. */
function stateOf(label: string): string {
  const words = texts.value.charts.series
  if (label === words.failed) return 'failed'
  return label === words.cancelled ? 'cancelled' : 'finished'
}

function within({ scope, name }: ChartScope): LocationQueryRaw {
  if (name === null) return {}
  return scope === 'queue' ? { queue: name } : { type: name }
}

/** A step of a chart, from one moment to another. */
interface Step {
  readonly from: string
  readonly to: string
  /** It is the newest one: what is counted in it can be seen as it is now. */
  readonly isLast: boolean
}

type Target = (of: ChartScope, step: Step, label: string) => RouteLocationRaw

const jobs = (query: LocationQueryRaw, of: ChartScope): RouteLocationRaw => ({
  name: 'jobs',
  query: { ...query, ...within(of) },
})

const endedIn = ({ from, to }: Step): string => `finished:${from}..${to}`

/** The jobs that there were in a past step: created until its end, and ended after its start. */
const openIn = ({ from, to }: Step): string => `created:..${to} finished:${from}..`

const waiting: Target = (of, step) => {
  if (!step.isLast) return jobs({ q: openIn(step) }, of)
  return of.scope === 'everything'
    ? { name: 'queues', query: { show: 'waiting' } }
    : jobs({ states: 'pending' }, of)
}

const TARGETS: Readonly<Record<Measure, Target>> = {
  throughput: (of, step, label) => jobs({ q: endedIn(step), states: stateOf(label) }, of),
  wait: (of, step) => jobs({ q: endedIn(step) }, of),
  run: (of, step) => jobs({ q: endedIn(step) }, of),
  waiting,
  lateness: waiting,
  slots: (of, step, label) => {
    if (label === texts.value.charts.series.slots) return { name: 'fleet' }
    if (!step.isLast) return jobs({ q: openIn(step) }, of)
    return of.scope === 'everything' ? { name: 'fleet' } : jobs({ states: 'started' }, of)
  },
}

/**
 * Return where the reason of a value is: the jobs that ended so in this step, or those that wait or run, in the last
 * step now, in others then. Null if it leads nowhere, such as for zero.
 */
export function whyOf(
  measure: Measure,
  label: string,
  value: number | null,
  time: number,
  history: Pick<HistorySeries, 'start' | 'step_seconds' | 'seconds'>,
  of: ChartScope,
): RouteLocationRaw | null {
  if (value === null || value === 0) return null
  const last = timesOf(history)[lastRecorded(history)] ?? time
  const step = {
    from: searched(time),
    to: searched(time + history.step_seconds),
    isLast: time >= last,
  }
  return TARGETS[measure](of, step, label)
}
