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
