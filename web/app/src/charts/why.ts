import type { LocationQueryRaw, RouteLocationRaw } from 'vue-router'

import { texts } from '@/texts/texts'
import type { Measure } from './history'

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

type Target = (of: ChartScope, ended: string, label: string) => RouteLocationRaw

const jobs = (query: LocationQueryRaw, of: ChartScope): RouteLocationRaw => ({
  name: 'jobs',
  query: { ...query, ...within(of) },
})

const waiting: Target = (of) =>
  of.scope === 'everything'
    ? { name: 'queues', query: { show: 'waiting' } }
    : jobs({ states: 'pending' }, of)

const TARGETS: Readonly<Record<Measure, Target>> = {
  throughput: (of, ended, label) => jobs({ q: ended, states: stateOf(label) }, of),
  wait: (of, ended) => jobs({ q: ended }, of),
  run: (of, ended) => jobs({ q: ended }, of),
  waiting,
  lateness: waiting,
  slots: (of, _ended, label) =>
    of.scope === 'everything' || label === texts.value.charts.series.slots
      ? { name: 'fleet' }
      : jobs({ states: 'started' }, of),
}

/**
 * Return where the reason of a value is: the jobs that ended so in this step, or the jobs that wait. Null if it leads
 * nowhere, such as for zero.
 */
export function whyOf(
  measure: Measure,
  label: string,
  value: number | null,
  time: number,
  step: number,
  of: ChartScope,
): RouteLocationRaw | null {
  if (value === null || value === 0) return null
  return TARGETS[measure](of, `finished:${searched(time)}..${searched(time + step)}`, label)
}
