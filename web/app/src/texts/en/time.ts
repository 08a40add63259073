/** The units of durations, and the words around them. */
export const time = {
  days: 'd',
  hours: 'h',
  minutes: 'min',
  seconds: 's',
  milliseconds: 'ms',
  justNow: 'just now',
  ago: (duration: string) => `${duration} ago`,
  in: (duration: string) => `in ${duration}`,
}
