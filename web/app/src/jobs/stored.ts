import type { Job } from '@horae/vue'

import { escapedControls } from '@/format/controls'
import { sentenceText } from '@/texts/sentences'

/** Why a job failed, for its owner; empty if it did not. */
export function failureText(
  job: Pick<Job, 'human_readable_error' | 'human_readable_error_sentence'>,
): string {
  return escapedControls(sentenceText(job.human_readable_error, job.human_readable_error_sentence))
}

/** Why a job is tried again; empty if it is not. */
export function retryText(job: Pick<Job, 'retry_reason' | 'retry_reason_sentence'>): string {
  return escapedControls(sentenceText(job.retry_reason ?? '', job.retry_reason_sentence))
}
