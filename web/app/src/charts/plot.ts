import uPlot from 'uplot'

import { stacked, type ChartData } from './series'

/** `bars`: counts on top of one another; `lines`: values beside one another. */
export type ChartKind = 'bars' | 'lines'

const HEIGHT = 190
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
  const ordered = kind === 'bars' ? [...data.series].reverse() : data.series
  const paths = uPlot.paths.bars?.({ size: [0.8, 14], radius: 0.15, align: 0 })
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    scales: {
      y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, kind === 'bars' ? 4 : 0.01)] },
    },
    axes: [axis(color), { ...axis(color), size: 58, values: (_plot, ticks) => ticks.map(format) }],
    series: [
      {},
      ...ordered.map(({ label, color: name }, index) => ({
        label,
        stroke: color(name),
        width: kind === 'bars' ? 0 : 2,
        points: { show: kind === 'lines' && data.times.length < 3 },
        ...(kind === 'bars'
          ? { fill: color(name), ...(paths && { paths }) }
          : areaOf(index, color)),
      })),
    ],
  }
}

/** The first of several lines has its area filled. */
function areaOf(
  index: number,
  color: (name: string) => string,
): Pick<uPlot.Series, 'fill' | 'spanGaps'> {
  return { spanGaps: true, ...(index === 0 && { fill: color('--chart-fill') }) }
}

function axis(color: (name: string) => string): uPlot.Axis {
  const line = color('--line')
  return {
    stroke: color('--muted'),
    font: FONT,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  }
}

/** The colours of the theme as a canvas understands them: it knows neither variables nor `light-dark()`. */
function colorsOf(place: HTMLElement): (name: string) => string {
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
