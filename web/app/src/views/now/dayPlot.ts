import uPlot from 'uplot'

import { clockText } from '@/format/moment'
import type { HistorySeries } from '@/api/model'
import { perMinute, timesOf } from '@/charts/history'
import { tellPressed } from '@/charts/plot'
import type { Mark, MarkKind } from './day'

const HEIGHT = 220
const AXIS_WIDTH = 48
/** The side of an axis. uPlot has an enum for it, which exists only in its types. */
const RIGHT = 1 as never
const FONT = '12px system-ui, sans-serif'
/** The steps of the axes: only whole numbers. */
const WHOLE = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((size) => [size, 2 * size, 5 * size])
/** The steps of the time axis: whole hours. */
const HOURS = [1, 2, 3, 4, 6, 12].map((hours) => hours * 3600)
export const MARK_COLORS: Readonly<Record<MarkKind, string>> = {
  deployment: '--accent',
  pause: '--warn',
  resume: '--good',
  death: '--bad',
}

/** Return the data for uPlot: failures are drawn behind what finished, on top of it. */
export function dayData(history: HistorySeries): uPlot.AlignedData {
  const finished = perMinute(history, history.finished)
  const failed = perMinute(history, history.failed)
  const ended = finished.map((count, index) =>
    count === null ? null : count + (failed[index] ?? 0),
  )
  return [timesOf(history), ended, finished, [...history.waiting]]
}

export function dayOptions(
  container: HTMLElement,
  marks: () => readonly Mark[],
  step: () => number,
  format: (value: number) => string,
  onHover: (index: number | null) => void,
  onPick: (index: number) => void,
): uPlot.Options {
  const color = colorsOf(container)
  const fromZero: uPlot.Scale = { range: (_plot, _min, max) => [0, Math.max(max * 1.15, 4)] }
  return {
    width: container.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    hooks: {
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, marks(), color)],
      ready: [tellPressed(onPick)],
    },
    scales: {
      x: { range: (_plot, from, to) => [from, to + step()] }, // a step lasts until the next one
      y: fromZero,
      depth: fromZero,
    },
    axes: axesOf(color, format),
    series: [
      {},
      bar(color('--chart-2')),
      bar(color('--chart-1')),
      { scale: 'depth', stroke: color('--text'), width: 1.5, points: { show: false } },
    ],
  }
}

type Color = (name: string) => string

function axesOf(color: Color, format: (value: number) => string): uPlot.Axis[] {
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    font: FONT,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1, size: 4 },
  }
  const counts: uPlot.Axis = {
    ...axis,
    size: AXIS_WIDTH,
    incrs: WHOLE,
    values: (_plot, ticks) => ticks.map(format),
  }
  const times = (ticks: readonly number[]): string[] =>
    ticks.map((seconds) => clockText(new Date(seconds * 1000).toISOString()))
  return [
    { ...axis, size: 30, incrs: HOURS, values: (_plot, ticks) => times(ticks) },
    counts,
    { ...counts, scale: 'depth', side: RIGHT, grid: { show: false } },
  ]
}

function bar(color: string): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [1, 14], align: 1 })
  return {
    stroke: color,
    fill: color,
    width: 0,
    points: { show: false },
    ...(paths && { paths }),
  }
}

/** Draw a line and a triangle for each mark. */
function drawMarks(plot: uPlot, marks: readonly Mark[], color: Color): void {
  const { ctx, bbox } = plot
  const size = 6 * devicePixelRatio
  const { min, max } = plot.scales['x'] ?? {}
  ctx.save()
  ctx.lineWidth = devicePixelRatio
  for (const { time, kind } of marks) {
    if (typeof min !== 'number' || typeof max !== 'number' || time < min || time > max) continue
    const x = plot.valToPos(time, 'x', true)
    ctx.strokeStyle = ctx.fillStyle = color(MARK_COLORS[kind])
    ctx.setLineDash([4, 4])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.moveTo(x - size, bbox.top)
    ctx.lineTo(x + size, bbox.top)
    ctx.lineTo(x, bbox.top + size * 1.5)
    ctx.fill()
  }
  ctx.restore()
}

/** Resolve the colours of the theme for a canvas, which supports neither CSS variables nor `light-dark()`. */
function colorsOf(container: HTMLElement): Color {
  const probe = document.createElement('span')
  container.append(probe)
  const names = ['--chart-1', '--chart-2', '--line', '--muted', '--text']
  const colors = new Map<string, string>()
  for (const name of [...names, ...Object.values(MARK_COLORS)]) {
    probe.style.color = `var(${name})`
    colors.set(name, getComputedStyle(probe).color)
  }
  probe.remove()
  return (name) => colors.get(name) ?? 'gray'
}
