import type { JobDetail } from '@horae/vue'

/** The job type that changes many jobs. */
const BULK_TYPE = 'horae.bulk'

/** What a job that changed many others has done, as its result says it. */
export interface BulkOutcome {
  readonly total: number
  readonly changed: number
  /** Jobs that had ended, were retried or were deleted before it reached them. */
  readonly skipped: number
  readonly refused: number
  /** The first few reasons: `job 7: "…"`. */
  readonly reasons: readonly string[]
}

interface BulkResult {
  readonly total: number | null
  readonly changed: number
  readonly skipped: number
  readonly failed: number
  readonly errors: readonly string[]
}

/** Return what a job has done to others; null for other jobs, before its end, and for a reader who may not see it. */
export function bulkOutcome({ type, state, result }: JobDetail): BulkOutcome | null {
  if (type !== BULK_TYPE || state !== 'finished' || !result) return null
  const { total, changed, skipped, failed, errors } = result as BulkResult
  return {
    // Jobs that began to match after they were counted are changed, too.
    total: Math.max(total ?? 0, changed + skipped + failed),
    changed,
    skipped,
    refused: failed,
    reasons: errors,
  }
}
