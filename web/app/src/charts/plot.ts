import uPlot from 'uplot'

import { clockText } from '@/format/moment'
import { stacked, type ChartData } from './series'

/** `bars`: counts on top of one another; `counts` and `seconds`: lines beside one another. */
export type ChartKind = 'bars' | 'counts' | 'seconds'

const HEIGHT = 180
/** Steps between the lines of an axis of counts: half a job is none. */
const WHOLE_STEPS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((size) => [size, 2 * size, 5 * size])
/** So few values make no line that could be seen. */
const FEW = 12
/** Pixels beside the labels of an axis, and what it has at least. */
const AXIS_GAPS = 14
const LEAST_AXIS = 44
const FONT = '12px system-ui, sans-serif'

/** What uPlot paints. Stacked bars are sums, painted from the highest down, so that each covers the one before. */
export function paintedOf(data: ChartData, kind: ChartKind): uPlot.AlignedData {
  const values =
    kind === 'bars' ? stacked(data.series).reverse() : data.series.map((each) => [...each.values])
  return [[...data.times], ...values]
}

export function optionsOf(
  data: ChartData,
  kind: ChartKind,
  place: HTMLElement,
  format: (value: number | null) => string,
  point: (index: number | null) => void,
): uPlot.Options {
  const color = colorsOf(place)
  const least = kind === 'seconds' ? 0.01 : 4
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind !== 'bars' } },
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    scales: {
      x: { range: (_plot, from, to) => spanOf(from, to, kind) },
      y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, least)] },
    },
    axes: [
      { ...axis(color), size: 30, values: (_plot, ticks) => timeTexts(ticks) },
      {
        ...axis(color),
        size: (plot, values) => widthOf(values, plot),
        ...(kind !== 'seconds' && { incrs: WHOLE_STEPS }),
        values: (_plot, ticks) => ticks.map(format),
      },
    ],
    series: [{}, ...(kind === 'bars' ? barsOf(data, color) : linesOf(data, color))],
  }
}

/** Room for the longest label of an axis, whole; measured, since a duration may be `12 min 30 s`. */
function widthOf(values: readonly string[] | null, plot: uPlot): number {
  plot.ctx.save()
  plot.ctx.font = FONT
  const longest = Math.max(0, ...(values ?? []).map((text) => plot.ctx.measureText(text).width))
  plot.ctx.restore()
  return Math.max(LEAST_AXIS, Math.ceil(longest) + AXIS_GAPS)
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
    spanGaps: true,
    points: { show: (plot, place) => isSparse(plot.data[place] ?? []) },
    ...(index === 0 && { fill: color('--chart-fill') }),
  }))
}

function isSparse(values: ArrayLike<number | null | undefined>): boolean {
  return Array.from(values).filter((value) => typeof value === 'number').length < FEW
}

/** At least a minute, and with room for the half of a bar at either end. */
function spanOf(from: number, to: number, kind: ChartKind): [number, number] {
  const least = Math.min(from, to - 60)
  return kind === 'bars' ? [least - 30, to + 30] : [least, to]
}

/** Each minute is named once, where it begins. */
function timeTexts(ticks: readonly number[]): string[] {
  const texts = ticks.map((seconds) => clockText(new Date(seconds * 1000).toISOString()))
  return texts.map((text, index) => (text === texts[index - 1] ? '' : text))
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

/** The colours of the theme as a canvas understands them: it knows neither variables nor `light-dark()`. */
function colorsOf(place: HTMLElement): Color {
  const probe = document.createElement('span')
  place.append(probe)
  const known = new Map<string, string>()
  for (const name of ['--chart-1', '--chart-2', '--chart-3', '--chart-fill', '--line', '--muted']) {
    probe.style.color = `var(${name})`
    known.set(name, getComputedStyle(probe).color)
  }
  probe.remove()
  return (name) => known.get(name) ?? 'gray'
}
