import type { LimitNumbers } from '@/api/model'
import { LARGEST_LIMIT } from './limits'

/**
 * Parse the input of a limit. Returns undefined for an invalid input. The server checks the rate, such as `10/s` or
 * `5/30s`.
 */
export function limitNumbersOf(
  kind: 'rate' | 'concurrency',
  input: string,
  burst: string,
): LimitNumbers | undefined {
  if (kind === 'concurrency') {
    const concurrency = wholeNumber(input)
    return concurrency === undefined ? undefined : { concurrency }
  }
  const rate = input.trim()
  if (!/^[1-9]\d*\/\S+/.test(rate)) return undefined
  if (burst.trim() === '') return { rate }
  const most = wholeNumber(burst)
  return most === undefined ? undefined : { rate, burst: most }
}

function wholeNumber(input: string): number | undefined {
  const text = input.trim()
  const value = /^\d+$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= LARGEST_LIMIT ? value : undefined
}
