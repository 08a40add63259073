import { afterEach, expect, it } from 'vitest'

import {
  localInput,
  momentOfInput,
  momentText,
  otherZoneText,
  secondsText,
  tooltipText,
} from '@/format/moment'
import { parseZone, zone, zoneName } from '@/format/zone'

afterEach(() => void (zone.value = 'local'))

const MOMENT = '2030-07-01T01:02:03Z'

it('all times are in the chosen zone, and the tooltip always has UTC', () => {
  expect(tooltipText(MOMENT).split('\n')[1]).toBe('2030-07-01 01:02:03 UTC')
  zone.value = 'utc'
  expect(momentText(MOMENT)).toMatch(/1:02:03.*UTC/)
  expect(secondsText(MOMENT)).toMatch(/0?1:02:03/)
  expect(tooltipText(MOMENT)).toBe('2030-07-01 01:02:03 UTC')
})

it('what is typed is in the chosen zone as well', () => {
  const moment = Date.parse('2030-07-01T01:02:00Z')
  expect(momentOfInput(localInput(moment)).getTime()).toBe(moment)
  zone.value = 'utc'
  expect(localInput(moment)).toBe('2030-07-01T01:02')
  expect(momentOfInput('2030-07-01T01:02').getTime()).toBe(moment)
  expect(momentOfInput('').getTime()).toBeNaN()
})

it('an unknown choice is the zone of the reader', () => {
  expect([parseZone('utc'), parseZone('mars'), parseZone(null)]).toEqual(['utc', 'local', 'local'])
})

it('the zone of a schedule is named where it says something else', () => {
  expect(otherZoneText(MOMENT, 'Asia/Tokyo')).toMatch(/10:02:03.*GMT\+9/)
  expect(otherZoneText(MOMENT, 'UTC')).toBe('')
  expect(otherZoneText(MOMENT, Intl.DateTimeFormat().resolvedOptions().timeZone)).toBe('')
})

it('the zone of the page has a short name', () => {
  expect(momentText(new Date().toISOString())).toContain(zoneName.value)
  zone.value = 'utc'
  expect(zoneName.value).toBe('UTC')
})
