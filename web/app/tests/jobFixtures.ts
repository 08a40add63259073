import type { Job } from '@horae/vue'

export const START = Date.parse('2030-01-01T00:00:00Z')

/** Return the timestamp that many seconds after the start. */
export function at(seconds: number): string {
  return new Date(START + seconds * 1000).toISOString()
}

export function jobOf(id: number, state = 'pending', more: Partial<Job> = {}): Job {
  return {
    id,
    type: 'import_csv',
    state,
    progress_percentage: 0,
    human_readable_error: '',
    created_on: at(0),
    updated_on: at(0),
    started_on: null,
    finished_on: null,
    due_on: at(0),
    label: null,
    owner: 'alice',
    queue: 'default',
    priority: 0,
    attempt: 0,
    max_attempts: 1,
    node: null,
    cancelled_by: null,
    tags: [],
    ...more,
  }
}
