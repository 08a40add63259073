import type { RouteLocationRaw } from 'vue-router'

import type { Overview } from '@/api/model'
import { secondsToClear } from '@/charts/backlog'
import { durationText } from '@/format/duration'
import { countText } from '@/format/number'

/** A figure, what it is of, and where to see more of it. */
export interface Tile {
  readonly name: string
  readonly figure: string
  readonly more: string
  readonly to: RouteLocationRaw
  readonly bad?: boolean
  readonly moreIsBad?: boolean
}

export function tilesOf(overview: Overview): Tile[] {
  return [...loadTiles(overview), ...endTiles(overview), ...serviceTiles(overview)]
}

function jobsIn(states: string): RouteLocationRaw {
  return { name: 'jobs', query: { states } }
}

function loadTiles(overview: Overview): Tile[] {
  const { pending, started } = overview.states
  return [
    {
      name: 'Waiting',
      figure: countText(pending),
      more: waitText(overview),
      to: jobsIn('pending'),
    },
    {
      name: 'Running',
      figure: countText(started),
      more: `of ${countText(overview.slots)} slots`,
      to: jobsIn('started'),
    },
  ]
}

/** What waits for a slot; the rest is due later, or in a paused queue. */
function waitText(overview: Overview): string {
  const { ready } = overview
  const held = overview.states.pending - ready
  if (ready === 0) return held > 0 ? 'due later or paused' : 'nothing to start'
  const clears = secondsToClear(overview)
  const work =
    clears === null ? `${countText(ready)} ready to start` : `about ${durationText(clears)} of work`
  return held > 0 ? `${work}, ${countText(held)} due later or paused` : work
}

function endTiles({ throughput }: Overview): Tile[] {
  const sum = (name: 'finished' | 'failed'): number =>
    throughput.reduce((total, minute) => total + minute[name], 0)
  const more = 'in the last hour'
  const failed = sum('failed')
  return [
    { name: 'Finished', figure: countText(sum('finished')), more, to: jobsIn('finished') },
    { name: 'Failed', figure: countText(failed), more, to: jobsIn('failed'), bad: failed > 0 },
  ]
}

function serviceTiles({ pick_up, nodes_alive, nodes_dead }: Overview): Tile[] {
  return [
    {
      name: 'Median start delay',
      figure: durationText(pick_up.p50_seconds),
      more: `99th percentile ${durationText(pick_up.p99_seconds)}`,
      to: { name: 'queues' },
    },
    {
      name: 'Nodes',
      figure: countText(nodes_alive),
      more: nodes_dead > 0 ? `${countText(nodes_dead)} dead` : 'all alive',
      to: { name: 'nodes' },
      moreIsBad: nodes_dead > 0,
    },
  ]
}
