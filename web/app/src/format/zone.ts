import { computed, shallowRef, watch } from 'vue'

import { locale } from '@/texts/locale'

export const ZONES = ['local', 'utc'] as const
export type Zone = (typeof ZONES)[number]

const KEY = 'horae.zone'

export function parseZone(text: string | null): Zone {
  return ZONES.find((zone) => zone === text) ?? 'local'
}

/** The zone of all times on the page: the reader's or UTC. It is stored for the next visit. */
export const zone = shallowRef<Zone>(parseZone(localStorage.getItem(KEY)))

watch(zone, (chosen) => localStorage.setItem(KEY, chosen))

/** Show all times in the other zone. */
export function changeZone(): void {
  zone.value = zone.value === 'utc' ? 'local' : 'utc'
}

/** The IANA name of the zone of all times on the page. */
export const timeZone = computed(() =>
  zone.value === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone,
)

/** The short name of that zone, as it stands beside times: `CET`, `GMT+5:30`, `UTC`. */
export const zoneName = computed(() => {
  const format = new Intl.DateTimeFormat(locale.value, {
    timeZone: timeZone.value,
    timeZoneName: 'short',
  })
  const parts = format.formatToParts(new Date())
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone.value
})
