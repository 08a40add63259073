import type { components, Job, JobDetail } from '@horae/vue'

import { refusalText } from '@/texts/sentences'
import { texts } from '@/texts/texts'

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

/** A sentence of the server, and which job it is about. */
type Refusal = components['schemas']['SentenceItem'] & { readonly job: number }

interface BulkResult {
  readonly total: number | null
  readonly changed: number
  readonly skipped: number
  readonly failed: number
  readonly errors: readonly string[]
  /** What those errors are as sentences, if they are any; jobs of older versions lack all. */
  readonly sentences?: readonly (Refusal | null)[]
}

/** Return how many changes were refused to a job that changed many others; 0 for all other jobs. */
export function refusedBy(job: Job & { readonly refused?: number }): number {
  return job.type === BULK_TYPE ? (job.refused ?? 0) : 0
}

/** Return what a job has done to others; null for other jobs, before its end, and for a reader who may not see it. */
export function bulkOutcome({ type, state, result }: JobDetail): BulkOutcome | null {
  if (type !== BULK_TYPE || state !== 'finished' || !result) return null
  const { total, changed, skipped, failed, errors, sentences } = result as BulkResult
  return {
    // Jobs that began to match after they were counted are changed, too.
    total: Math.max(total ?? 0, changed + skipped + failed),
    changed,
    skipped,
    refused: failed,
    reasons: errors.map((error, at) => reasonOf(error, sentences?.[at] ?? null)),
  }
}

function reasonOf(error: string, sentence: Refusal | null): string {
  const why = refusalText(sentence)
  return sentence && why ? `${texts.value.jobPage.title(sentence.job)}: ${why}` : error
}
