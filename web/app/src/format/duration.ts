const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** Format a duration in at most two units: `3 d 4 h`, `2 min 5 s`, `1.4 s`, `350 ms`. */
export function durationText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–'
  if (seconds < 0) return `−${durationText(-seconds)}`
  if (seconds < 0.0005) return '0 ms'
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  return unitsText(Math.round(seconds))
}

function unitsText(seconds: number): string {
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  let rest = seconds
  const parts = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count > 0 ? `${count} ${unit}` : ''
  })
  return parts.filter(Boolean).join(' ')
}

/** Return the seconds between two timestamps of the API; null unless both are known. */
export function secondsBetween(
  from: string | null | undefined,
  to: string | number | null | undefined,
): number | null {
  if (!from || to === null || to === undefined) return null
  return (new Date(to).getTime() - Date.parse(from)) / 1000
}
