/** One changed value. `before` or `after` is undefined if the value was added or removed. */
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

/** Describe the interface through which a change was made. */
export function channelText(channel: string): string {
  return CHANNELS[channel] ?? channel
}

/** Return the values that differ, by name. */
export function changedValues(before: unknown, after: unknown): ChangedValue[] {
  const [oldFields, newFields] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])]
    .filter((name) => JSON.stringify(oldFields[name]) !== JSON.stringify(newFields[name]))
    .map((name) => ({ name, before: oldFields[name], after: newFields[name] }))
}

/** Format a value on one line. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {}
  const isRecord = typeof value === 'object' && !Array.isArray(value)
  return isRecord ? (value as Record<string, unknown>) : { value }
}
