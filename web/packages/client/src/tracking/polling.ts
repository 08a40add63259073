/** How often jobs are polled. Intervals are in milliseconds. */
export interface PollingOptions {
  /** The first interval after the set of polled jobs has changed. */
  readonly first: number
  /** The factor by which each interval is longer than the previous one. */
  readonly factor: number
  /** The longest interval within the budget. */
  readonly ceiling: number
  /** The number of requests for the same jobs after which polling slows down. */
  readonly budget: number
  /** The interval once the budget is used up, and in a hidden tab. */
  readonly slow: number
  /** The longest interval while the server does not answer. */
  readonly errorCeiling: number
  /** The interval while events arrive: these polls only find changes that no event reported, such as deletions. */
  readonly reconcile: number
}

export const DEFAULT_POLLING: PollingOptions = {
  first: 200,
  factor: 1.5,
  ceiling: 2000,
  budget: 100,
  slow: 10_000,
  errorCeiling: 60_000,
  reconcile: 30_000,
}

/** What the next interval depends on. */
export interface PollingState {
  /** The previous interval, in milliseconds. */
  readonly interval: number
  /** Successful requests for the same jobs. */
  readonly requests: number
  /** Consecutive errors. */
  readonly errors: number
}

export const INITIAL_STATE: PollingState = { interval: 0, requests: 0, errors: 0 }

export function afterResponse(state: PollingState, options: PollingOptions): PollingState {
  return { interval: nextInterval(state, options), requests: state.requests + 1, errors: 0 }
}

export function afterError(state: PollingState): PollingState {
  return { ...state, errors: state.errors + 1 }
}

/** Return the time to wait before the next request, in milliseconds. */
export function nextInterval(state: PollingState, options: PollingOptions): number {
  if (state.errors > 0) {
    return Math.min(options.ceiling * 2 ** (state.errors - 1), options.errorCeiling)
  }
  if (state.requests >= options.budget) {
    return options.slow
  }
  if (state.requests === 0) {
    return options.first
  }
  return Math.min(Math.floor(state.interval * options.factor), options.ceiling)
}
