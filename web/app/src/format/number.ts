const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

/** Format a count with separators; from 100,000 on in compact form. */
export function countText(count: number | null | undefined): string {
  if (count === null || count === undefined) return '–'
  return Math.abs(count) < 100_000 ? WHOLE.format(count) : SHORT.format(count)
}

/** Format a count with a noun: `1 job`, `3 jobs`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}
