import type { RouteLocationRaw } from 'vue-router'

import type { Overview } from '@/api/model'
import { secondsToClear } from '@/charts/backlog'
import { durationText } from '@/format/duration'
import { countText } from '@/format/number'
import { texts } from '@/texts/texts'

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
  const words = texts.value.now.tiles
  return [
    {
      name: words.waiting,
      figure: countText(pending),
      details: waitText(overview),
      to: jobsInState('pending'),
    },
    {
      name: words.running,
      figure: countText(started),
      details: words.slotsInUse(overview.running, overview.slots),
      to: jobsInState('started'),
    },
  ]
}

/** Describe the jobs that are ready to start, and those that are due later or in a paused queue. */
function waitText(overview: Overview): string {
  const { ready } = overview
  const words = texts.value.now.tiles
  const held = overview.states.pending - ready
  if (ready === 0) return held > 0 ? words.heldBack : words.nothingToStart
  const seconds = secondsToClear(overview)
  const work = seconds === null ? words.readyToStart(ready) : words.aboutWork(durationText(seconds))
  return held > 0 ? words.heldBackToo(work, held) : work
}

function outcomeTiles({ throughput }: Overview): Tile[] {
  const sum = (name: 'finished' | 'failed'): number =>
    throughput.reduce((total, minute) => total + minute[name], 0)
  const words = texts.value.now.tiles
  const details = words.inTheLastHour
  const failed = sum('failed')
  return [
    {
      name: words.finished,
      figure: countText(sum('finished')),
      details,
      to: jobsInState('finished'),
    },
    {
      name: words.failed,
      figure: countText(failed),
      details,
      to: jobsInState('failed'),
      bad: failed > 0,
    },
  ]
}

function serviceTiles({ pick_up, nodes_alive, nodes_dead }: Overview): Tile[] {
  const words = texts.value.now.tiles
  return [
    {
      name: words.startDelay,
      figure: durationText(pick_up.p50_seconds),
      details: words.p99(durationText(pick_up.p99_seconds)),
      to: { name: 'queues' },
    },
    {
      name: words.nodes,
      figure: countText(nodes_alive),
      details: nodes_dead > 0 ? words.dead(nodes_dead) : words.allAlive,
      to: { name: 'fleet' },
      detailsAreBad: nodes_dead > 0,
    },
  ]
}
