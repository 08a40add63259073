import type { Queue, QueueCourse } from '@/api/model'
import { sortedBy, type SortValue } from '@/components/sorting'

/** One queue as the list shows it: as it is now, and its course. */
export interface QueueRow {
  readonly queue: Queue
  readonly course: QueueCourse | null
  /** Since when it is behind; null if it is not, or is paused. */
  readonly behindSince: string | null
  /** Seconds until what waits is done at the rate of the last minutes; null if nothing waits, Infinity without an end. */
  readonly drain: number | null
}

export const SHOWN = ['all', 'behind', 'waiting', 'paused'] as const
export type Shown = (typeof SHOWN)[number]

/** The columns that can be chosen; the name and the state are always shown. */
export const COLUMNS = ['waiting', 'course', 'oldest', 'running', 'rate', 'drain'] as const
export type Column = (typeof COLUMNS)[number]

export const SORTS = ['name', 'behind', 'waiting', 'running', 'rate', 'drain', 'oldest'] as const
export type Sort = (typeof SORTS)[number]

/** Return all queues that have jobs or settings now, or had jobs in the time of the history. */
export function rowsOf(queues: readonly Queue[], courses: readonly QueueCourse[]): QueueRow[] {
  const now = new Map(queues.map((queue) => [queue.name, queue]))
  const past = new Map(courses.map((course) => [course.name, course]))
  return [...new Set([...now.keys(), ...past.keys()])].map((name) => {
    const queue = now.get(name) ?? idle(name)
    const course = past.get(name) ?? null
    return {
      queue,
      course,
      behindSince: queue.paused ? null : (course?.behind_since ?? null),
      drain: drainOf(queue, course),
    }
  })
}

/** Return a queue without jobs and settings. */
export function idle(name: string): Queue {
  return {
    ...{ name, paused: false, paused_on: null, note: null, concurrency_limit: null },
    ...{ fair_by: null, limits: null, declared: null, backend: 'horae' },
    ...{ pending: 0, due: 0, started: 0, oldest_seconds: null },
  }
}

/** Estimate for how long the due jobs need, at the rate at which jobs ended in the last minutes. */
export function drainOf(queue: Queue, course: QueueCourse | null): number | null {
  if (queue.due === 0) return null
  const rate = course?.recent.per_minute ?? 0
  return queue.paused || rate === 0 ? Infinity : (queue.due / rate) * 60
}

export function isShown(row: QueueRow, shown: Shown, text: string): boolean {
  if (!row.queue.name.toLowerCase().includes(text.trim().toLowerCase())) return false
  switch (shown) {
    case 'all':
      return true
    case 'behind':
      return row.behindSince !== null
    case 'waiting':
      return row.queue.due > 0
    case 'paused':
      return row.queue.paused
  }
}

const VALUES: Readonly<Record<Sort, (row: QueueRow) => SortValue>> = {
  name: ({ queue }) => queue.name,
  // What is behind comes first, the longest before the others, then what is paused.
  behind: ({ behindSince, queue }) =>
    behindSince === null ? Number(queue.paused) : 1e15 - Date.parse(behindSince),
  waiting: ({ queue }) => queue.due,
  running: ({ queue }) => queue.started,
  rate: ({ course }) => course?.recent.per_minute ?? null,
  drain: ({ drain }) => drain,
  oldest: ({ queue }) => queue.oldest_seconds,
}

/** Sort rows: names from A, the longest behind first, and else the largest first. Equal ones by name. */
export function sorted(rows: readonly QueueRow[], by: Sort, reversed: boolean): QueueRow[] {
  return sortedBy(sortedBy(rows, VALUES.name), VALUES[by], reversed)
}
