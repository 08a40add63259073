import uPlot from 'uplot'

import { dayText, tickText } from '@/format/moment'
import { COUNT_STEPS, DURATION_STEPS } from './ranges'
import { stacked, type ChartData } from './series'

/** `bars` are stacked counts; `counts` and `seconds` are lines. */
export type ChartKind = 'bars' | 'counts' | 'seconds'

/** The height of a chart, in pixels. */
const HEIGHT = 180
/** With fewer values than this a line is hardly visible, so its points are drawn as well. */
const SPARSE_BELOW = 12
/** The space beside the labels of an axis, in pixels. */
const AXIS_GAPS = 14
/** The minimum width of an axis, in pixels. */
const MIN_AXIS_WIDTH = 44
const FONT = '12px system-ui, sans-serif'

/**
 * Return the data for uPlot. Stacked bars are sums, drawn from the highest to the lowest, so that each covers part of
 * the previous one.
 */
export function plotDataOf(data: ChartData, kind: ChartKind): uPlot.AlignedData {
  const values =
    kind === 'bars' ? stacked(data.series).reverse() : data.series.map((each) => [...each.values])
  return [[...data.times], ...values]
}

export function optionsOf(
  data: ChartData,
  kind: ChartKind,
  container: HTMLElement,
  format: (value: number | null) => string,
  onHover: (index: number | null) => void,
  onPick: (index: number) => void = () => undefined,
): uPlot.Options {
  const color = colorsOf(container)
  const minimumHeight = kind === 'seconds' ? 0.01 : 4
  return {
    width: container.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: kind !== 'bars' },
    },
    hooks: {
      setCursor: [(plot) => onHover(plot.cursor.idx ?? null)],
      ready: [tellPressed(onPick)],
    },
    scales: {
      x: { range: (plot, from, to) => timeRangeOf(from, to, kind === 'bars' ? stepOf(plot) : 0) },
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, minimumHeight)] },
    },
    axes: [
      { ...axis(color), ...TIME_AXIS },
      {
        ...axis(color),
        size: (plot, values) => widthOf(values, plot),
        incrs: [...(kind === 'seconds' ? DURATION_STEPS : COUNT_STEPS)],
        values: (_plot, ticks) => ticks.map(format),
      },
    ],
    series: [{}, ...(kind === 'bars' ? barsOf(data, color) : linesOf(data, color))],
  }
}

/** Measure the width that an axis needs for its longest label, which may be as long as `12 min 30 s`. */
function widthOf(values: readonly string[] | null, plot: uPlot): number {
  plot.ctx.save()
  plot.ctx.font = FONT
  const longest = Math.max(0, ...(values ?? []).map((text) => plot.ctx.measureText(text).width))
  plot.ctx.restore()
  return Math.max(MIN_AXIS_WIDTH, Math.ceil(longest) + AXIS_GAPS)
}

/** Return a hook that tells which point is pressed; `cursor.bind.click` of uPlot is for its legend. */
export function tellPressed(onPick: (index: number) => void): (plot: uPlot) => void {
  return (plot) =>
    plot.over.addEventListener('click', () => {
      if (typeof plot.cursor.idx === 'number') onPick(plot.cursor.idx)
    })
}

type Color = (name: string) => string

function barsOf(data: ChartData, color: Color): uPlot.Series[] {
  const paths = uPlot.paths.bars?.({ size: [0.8, 14], radius: 0.15, align: 0 })
  return [...data.series].reverse().map(({ label, color: name }) => ({
    label,
    stroke: color(name),
    fill: color(name),
    width: 0,
    points: { show: false },
    ...(paths && { paths }),
  }))
}

function linesOf(data: ChartData, color: Color): uPlot.Series[] {
  return data.series.map(({ label, color: name }, index) => ({
    label,
    stroke: color(name),
    width: 2,
    spanGaps: false,
    points: { show: (plot, series) => isSparse(plot.data[series] ?? []) },
    ...(index === 0 && { fill: color('--chart-fill') }),
  }))
}

function isSparse(values: ArrayLike<number | null | undefined>): boolean {
  return Array.from(values).filter((value) => typeof value === 'number').length < SPARSE_BELOW
}

/** Return the seconds from one value to the next. */
function stepOf(plot: uPlot): number {
  const [first = 0, second = first + 60] = plot.data[0]
  return second - first
}

/** Return a time range of at least a minute. Bars need additional space for half a bar at both ends. */
function timeRangeOf(from: number, to: number, step: number): [number, number] {
  return [Math.min(from, to - 60) - step / 2, to + step / 2]
}

/** Label each time only at its first tick: the day at midnight, else the time of day. */
function timeTexts(ticks: readonly number[]): string[] {
  const days = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0) >= 4 * 86_400
  const texts = ticks.map((seconds) => (days ? dayText(seconds) : tickText(seconds)))
  return texts.map((text, index) => (text === texts[index - 1] ? '' : text))
}

/** Between two of its ticks is room for a label such as `30. Nov.`. */
const TIME_AXIS: uPlot.Axis = {
  size: 30,
  space: 60,
  values: (_plot, ticks) => timeTexts(ticks),
}

function axis(color: Color): uPlot.Axis {
  const line = color('--line')
  return {
    stroke: color('--muted'),
    font: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  }
}

/** Resolve the colours of the theme for a canvas, which supports neither CSS variables nor `light-dark()`. */
function colorsOf(container: HTMLElement): Color {
  const probe = document.createElement('span')
  container.append(probe)
  const colors = new Map<string, string>()
  for (const name of ['--chart-1', '--chart-2', '--chart-3', '--chart-fill', '--line', '--muted']) {
    probe.style.color = `var(${name})`
    colors.set(name, getComputedStyle(probe).color)
  }
  probe.remove()
  return (name) => colors.get(name) ?? 'gray'
}
