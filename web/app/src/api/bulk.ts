import type { Job, JobDetail } from '@horae/vue'

import { client } from './server'

export type BulkChange = 'cancel' | 'retry' | 'reschedule' | 'delete'

/** What a change of many jobs would change now. */
export interface BulkPreview {
  readonly count: number
  /** All jobs were counted. */
  readonly complete: boolean
  /** The newest few of the jobs. */
  readonly newest: readonly Job[]
}

/** Which jobs to change, and their new time: the body of a request. */
export type BulkBody = Readonly<Record<string, unknown>>

/** Count the jobs that an action would change now, and return the newest of them. */
export function previewBulk(action: BulkChange, body: BulkBody): Promise<BulkPreview> {
  return client.transport.json('POST', `/api/jobs/bulk/${action}/preview/`, { body })
}

/** Start a job that performs an action for all of the jobs, and return it. */
export function startBulk(action: BulkChange, body: BulkBody): Promise<JobDetail> {
  return client.transport.json('POST', `/api/jobs/bulk/${action}/`, { body })
}
