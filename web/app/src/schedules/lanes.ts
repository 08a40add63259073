import type { Lane, LaneList, LaneMark } from '@/api/schedules'

/** What is drawn in a lane: times of the past with one outcome, or times that come. */
export interface LaneItem {
  readonly key: string
  /** The moment to ask about. */
  readonly at: string
  readonly first: string
  readonly count: number
  readonly outcome: LaneMark['outcome'] | 'next'
  readonly job: number | null
  /** Where it begins and how long it is, in percent of the lane. */
  readonly left: number
  readonly width: number
}

/** The narrowest mark, in percent: about three pixels of a lane. */
const LEAST = 0.7

/** Lay out the marks of a lane, the oldest first, and then what comes. */
export function laneItems(lane: Lane, { start_on: start, end_on: end }: LaneList): LaneItem[] {
  const from = Date.parse(start)
  const percent = (moment: string): number =>
    Math.min(100, Math.max(0, ((Date.parse(moment) - from) / (Date.parse(end) - from)) * 100))
  const marks = lane.marks.map((mark) => {
    const left = percent(mark.first)
    return {
      key: `${mark.first} ${mark.outcome}`,
      at: mark.last,
      first: mark.first,
      count: mark.count,
      outcome: mark.outcome,
      job: mark.job_id,
      left,
      width: Math.max(percent(mark.last) - left, LEAST),
    }
  })
  const coming = comingItems(lane.coming, (moment) => Math.min(percent(moment), 100 - LEAST))
  return [...marks.sort((one, other) => one.left - other.left), ...coming]
}

/** Lay out the times that come; those are one whose borders would make another pattern, because they would touch. */
function comingItems(coming: readonly string[], leftOf: (moment: string) => number): LaneItem[] {
  const items: LaneItem[] = []
  for (const at of coming) {
    const last = items.at(-1)
    const left = leftOf(at)
    if (last && left < last.left + last.width + LEAST) {
      items.pop()
      items.push({ ...last, at, count: last.count + 1, width: left + LEAST - last.left })
    } else {
      const key = `${at} next`
      items.push({ key, at, first: at, count: 1, outcome: 'next', job: null, left, width: LEAST })
    }
  }
  return items
}

/** Return the moment under a point of a lane, from its left edge (0) to its right one (1). */
export function momentAt(share: number, { start_on: start, end_on: end }: LaneList): string {
  const [from, until] = [Date.parse(start), Date.parse(end)]
  return new Date(from + Math.min(1, Math.max(0, share)) * (until - from)).toISOString()
}

/** Count the times of a lane by outcome, in the order in which a summary names them. */
export function laneCounts(lane: Lane): [LaneMark['outcome'], number][] {
  const counts = new Map<LaneMark['outcome'], number>()
  for (const { outcome, count } of lane.marks) {
    counts.set(outcome, (counts.get(outcome) ?? 0) + count)
  }
  return [...counts].sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other))
}

/** The worst first. */
export const ORDER: readonly LaneMark['outcome'][] = [
  'failed',
  'missed',
  'waiting',
  'skipped',
  'cancelled',
  'coalesced',
  'paused',
  'late',
  'running',
  'ran',
]

/** Return the points of a line of durations, for an SVG of 100 by 24; empty for fewer than two. */
export function sparkline(durations: readonly number[]): string {
  if (durations.length < 2) return ''
  const longest = Math.max(...durations, 0.001)
  return durations
    .map((seconds, index) => {
      const x = (index / (durations.length - 1)) * 96 + 2
      const y = 22 - (seconds / longest) * 20
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    .join(' ')
}
