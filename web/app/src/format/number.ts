import { computed } from 'vue'

import { locale } from '@/texts/locale'

const whole = computed(() => new Intl.NumberFormat(locale.value, { maximumFractionDigits: 0 }))
const short = computed(
  () => new Intl.NumberFormat(locale.value, { notation: 'compact', maximumFractionDigits: 1 }),
)

/** Format a count with separators; from 100,000 on in compact form. */
export function countText(count: number | null | undefined): string {
  if (count === null || count === undefined) return '–'
  return (Math.abs(count) < 100_000 ? whole : short).value.format(count)
}

/** Format a count with a noun, for the texts: `1 job`, `3 jobs`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}

const tenths = computed(() => new Intl.NumberFormat(locale.value, { maximumFractionDigits: 1 }))
const percent = computed(
  () => new Intl.NumberFormat(locale.value, { style: 'percent', maximumFractionDigits: 1 }),
)

/** Format a rate: with one decimal below ten, else like a count. */
export function rateText(rate: number | null | undefined): string {
  if (rate === null || rate === undefined) return '–'
  if (rate > 0 && rate < 0.05) return `<${tenths.value.format(0.1)}`
  return rate < 10 ? tenths.value.format(rate) : countText(rate)
}

/** Format a share as a percentage. */
export function shareText(share: number): string {
  return percent.value.format(share)
}
