import type { Texts } from '../en'

export const time: Texts['time'] = {
  days: 'd',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
  milliseconds: 'ms',
  justNow: 'gerade eben',
  ago: (duration) => `vor ${duration}`,
  in: (duration) => `in ${duration}`,
}
