/** One value that a change has replaced; undefined where there was none, or is none any more. */
export interface ChangedValue {
  readonly name: string
  readonly before: unknown
  readonly after: unknown
}

const CHANNELS: Readonly<Record<string, string>> = {
  http: 'via HTTP',
  cli: 'via CLI',
  python: 'via Python',
}

/** How a change was asked for. */
export function channelText(channel: string): string {
  return CHANNELS[channel] ?? channel
}

/** What differs between the two, by name. */
export function changedValues(before: unknown, after: unknown): ChangedValue[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
    .map((name) => ({ name, before: old[name], after: now[name] }))
}

/** A value as a line can show it. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {}
  const isRecord = typeof value === 'object' && !Array.isArray(value)
  return isRecord ? (value as Record<string, unknown>) : { value }
}
