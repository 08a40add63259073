/** Return the time zone of the reader's browser. */
export function readersZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** Return the names of time zones to choose from, the reader's first. */
export function zoneNames(): string[] {
  const own = readersZone()
  const others = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== own)
  return [...new Set([own, 'UTC', ...others])]
}
