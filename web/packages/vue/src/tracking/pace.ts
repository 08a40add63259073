/** How often to ask, in milliseconds. */
export interface PaceOptions {
  /** The first gap after the jobs asked for have changed. */
  readonly first: number
  /** What each gap is multiplied by. */
  readonly factor: number
  /** The longest gap of a job that is young. */
  readonly ceiling: number
  /** Questions about the same jobs before the pace slows down. */
  readonly budget: number
  /** The gap once the budget is spent. */
  readonly slow: number
  /** The longest gap while the server cannot be reached. */
  readonly errorCeiling: number
  /** The gap while events arrive: only to notice what no event told. */
  readonly reconcile: number
}

export const DEFAULT_PACE: PaceOptions = {
  first: 200,
  factor: 1.5,
  ceiling: 2000,
  budget: 100,
  slow: 10_000,
  errorCeiling: 60_000,
  reconcile: 30_000,
}

/** What the next gap depends on; a value, so that the rule can be read and tested alone. */
export interface Pace {
  readonly gap: number
  readonly asked: number
  readonly errors: number
}

export const FRESH_PACE: Pace = { gap: 0, asked: 0, errors: 0 }

export function afterAnswer(pace: Pace, options: PaceOptions): Pace {
  return { gap: nextGap(pace, options), asked: pace.asked + 1, errors: 0 }
}

export function afterError(pace: Pace): Pace {
  return { ...pace, errors: pace.errors + 1 }
}

/** The gap before the next question. */
export function nextGap(pace: Pace, options: PaceOptions): number {
  if (pace.errors > 0) {
    return Math.min(options.ceiling * 2 ** (pace.errors - 1), options.errorCeiling)
  }
  if (pace.asked >= options.budget) {
    return options.slow
  }
  if (pace.asked === 0) {
    return options.first
  }
  return Math.min(Math.floor(pace.gap * options.factor), options.ceiling)
}
