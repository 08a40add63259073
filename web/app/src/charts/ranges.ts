/** How far back a chart reaches. */
export type Range = '1h' | '6h' | '24h' | '7d' | '30d'

export const RANGES: readonly Range[] = ['1h', '6h', '24h', '7d', '30d']

/** Return the range in an address, or the given one. */
export function rangeOf(value: unknown, otherwise: Range): Range {
  return RANGES.find((range) => range === value) ?? otherwise
}

/** Steps at which people read durations, in seconds. */
export const DURATION_STEPS: readonly number[] = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800],
]

/** Steps of an axis of counts: only whole numbers. */
export const COUNT_STEPS: readonly number[] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((size) => [
  size,
  2 * size,
  5 * size,
])
