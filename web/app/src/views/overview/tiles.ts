import type { RouteLocationRaw } from 'vue-router'

import type { Overview } from '@/api/model'
import { secondsToClear } from '@/charts/backlog'
import { durationText } from '@/format/duration'
import { countText } from '@/format/number'

/** A figure of the overview, with a link to more details. */
export interface Tile {
  readonly name: string
  readonly figure: string
  /** A text below the figure. */
  readonly details: string
  readonly to: RouteLocationRaw
  readonly bad?: boolean
  readonly detailsAreBad?: boolean
}

export function tilesOf(overview: Overview): Tile[] {
  return [...loadTiles(overview), ...outcomeTiles(overview), ...serviceTiles(overview)]
}

function jobsInState(states: string): RouteLocationRaw {
  return { name: 'jobs', query: { states } }
}

function loadTiles(overview: Overview): Tile[] {
  const { pending, started } = overview.states
  return [
    {
      name: 'Waiting',
      figure: countText(pending),
      details: waitText(overview),
      to: jobsInState('pending'),
    },
    {
      name: 'Running',
      figure: countText(started),
      details: `${countText(overview.running)} of ${countText(overview.slots)} slots in use`,
      to: jobsInState('started'),
    },
  ]
}

/** Describe the jobs that are ready to start, and those that are due later or in a paused queue. */
function waitText(overview: Overview): string {
  const { ready } = overview
  const held = overview.states.pending - ready
  if (ready === 0) return held > 0 ? 'due later or paused' : 'nothing to start'
  const seconds = secondsToClear(overview)
  const work =
    seconds === null
      ? `${countText(ready)} ready to start`
      : `about ${durationText(seconds)} of work`
  return held > 0 ? `${work}, ${countText(held)} due later or paused` : work
}

function outcomeTiles({ throughput }: Overview): Tile[] {
  const sum = (name: 'finished' | 'failed'): number =>
    throughput.reduce((total, minute) => total + minute[name], 0)
  const details = 'in the last hour'
  const failed = sum('failed')
  return [
    { name: 'Finished', figure: countText(sum('finished')), details, to: jobsInState('finished') },
    {
      name: 'Failed',
      figure: countText(failed),
      details,
      to: jobsInState('failed'),
      bad: failed > 0,
    },
  ]
}

function serviceTiles({ pick_up, nodes_alive, nodes_dead }: Overview): Tile[] {
  return [
    {
      name: 'Median start delay',
      figure: durationText(pick_up.p50_seconds),
      details: `p99: ${durationText(pick_up.p99_seconds)}`,
      to: { name: 'queues' },
    },
    {
      name: 'Nodes',
      figure: countText(nodes_alive),
      details: nodes_dead > 0 ? `${countText(nodes_dead)} dead` : 'all alive',
      to: { name: 'nodes' },
      detailsAreBad: nodes_dead > 0,
    },
  ]
}
