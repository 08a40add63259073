import type { KeyLimit, LimitNumbers } from '@/api/model'
import { texts } from '@/texts/texts'
import { LARGEST_LIMIT } from '../queues/limits'

/** What a user enters for a limit: starts per period, with a burst or in a sliding window, or jobs at a time. */
export interface LimitInput {
  readonly kind: 'rate' | 'concurrency'
  readonly text: string
  readonly burst: string
  readonly sliding: boolean
}

/** Units of a period, in microseconds. */
const UNITS = [
  ['d', 86_400_000_000],
  ['h', 3_600_000_000],
  ['m', 60_000_000],
  ['s', 1_000_000],
  ['ms', 1000],
] as const

/** Return the input that gives the numbers of a limit, as they are stored; an empty one if there are none. */
export function inputOf(numbers: Readonly<Record<string, unknown>> | null): LimitInput {
  const { concurrency, amount, period, burst, window } = numbers ?? {}
  const input: LimitInput = { kind: 'rate', text: '', burst: '', sliding: window === 'sliding' }
  if (typeof concurrency === 'number')
    return { ...input, kind: 'concurrency', text: String(concurrency) }
  if (typeof amount !== 'number' || typeof period !== 'number') return input
  // The burst follows the rate unless it was given.
  const ownBurst = typeof burst === 'number' && burst !== amount ? String(burst) : ''
  return { ...input, text: `${amount}/${periodText(period)}`, burst: ownBurst }
}

/** Write the numbers in force, as they are entered. */
export function allowedText({ allows, changed, declared }: KeyLimit): string {
  const words = texts.value.limits
  if (allows === null) return words.notDeclared
  const numbers = changed ?? declared
  const { kind, text, burst, sliding } = inputOf(numbers)
  const parts = [kind === 'concurrency' ? words.atOnce(text) : text]
  if (sliding) parts.push(words.slidingWindow)
  if (burst !== '') parts.push(words.burstOf(burst))
  if (numbers?.['on_reached']) parts.push(words.othersDiscarded)
  return parts.join(', ')
}

function periodText(period: number): string {
  const [unit, size] = UNITS.find(([, length]) => period % length === 0) ?? ['us', 1]
  return period === size ? unit : `${period / size}${unit}`
}

/**
 * Parse the input of a limit. Returns undefined for an invalid input. The server checks the rate, such as `10/s` or
 * `5/30s`.
 */
export function limitNumbersOf(input: LimitInput): LimitNumbers | undefined {
  const { kind, text, burst, sliding } = input
  if (kind === 'concurrency') {
    const concurrency = wholeNumber(text)
    return concurrency === undefined ? undefined : { concurrency }
  }
  const rate = text.trim()
  if (!/^[1-9]\d*\/\S+/.test(rate)) return undefined
  if (sliding) return { rate, window: 'sliding' }
  if (burst.trim() === '') return { rate }
  const most = wholeNumber(burst)
  return most === undefined ? undefined : { rate, burst: most }
}

function wholeNumber(input: string): number | undefined {
  const text = input.trim()
  const value = /^\d+$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= LARGEST_LIMIT ? value : undefined
}
