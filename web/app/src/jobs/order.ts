import { sortedBy, type SortOrder, type SortValue } from '@/components/sorting'
import { runSeconds, waitSeconds } from './attempts'
import type { ListedJob } from './listed'

/** The orders of the server: by what a column shows, and whether from the other end. */
export const SERVER_ORDERS = {
  newest: { by: 'created', reversed: false },
  oldest: { by: 'created', reversed: true },
  last_ended: { by: 'ended', reversed: false },
  first_ended: { by: 'ended', reversed: true },
} as const satisfies Record<string, SortOrder<SortKey>>
export type ServerOrder = keyof typeof SERVER_ORDERS

/** The columns by which a page sorts its own jobs, because the server has no index for them. */
const VALUES = {
  job: (job) => `${job.type} ${job.id}`,
  state: (job) => job.state,
  queue: (job) => job.queue,
  owner: (job) => job.owner,
  attempt: (job) => job.attempt,
  due: (job) => Date.parse(job.due_on),
  wait: (job, now) => waitSeconds(job, now),
  duration: (job, now) => runSeconds(job, now),
} as const satisfies Record<string, (job: ListedJob, now: number) => SortValue>
export type PageKey = keyof typeof VALUES
export type SortKey = PageKey | 'created' | 'ended'

/** How a list is sorted: by the server, or by the page, such as `-duration` for the shortest first. */
export type JobOrder = ServerOrder | PageKey | `-${PageKey}`

/** Return the order that an address names, by default the newest first. */
export function orderOf(text: string): JobOrder {
  if (text in SERVER_ORDERS) return text as ServerOrder
  return text.replace(/^-/, '') in VALUES ? (text as JobOrder) : 'newest'
}

/** Return the order in which the server is asked for jobs. */
export function serverOrder(order: JobOrder): ServerOrder {
  return isOfServer(order) ? order : 'newest'
}

function isOfServer(order: JobOrder): order is ServerOrder {
  return order in SERVER_ORDERS
}

/** Return by which column a page is sorted. */
export function sortOrderOf(order: JobOrder): SortOrder<SortKey> {
  if (isOfServer(order)) return SERVER_ORDERS[order]
  return { by: order.replace(/^-/, '') as PageKey, reversed: order.startsWith('-') }
}

/** Return the order after a press on the header of a column. */
export function orderAfter(pressed: SortKey, { by, reversed }: SortOrder<SortKey>): JobOrder {
  const other = pressed === by && !reversed
  if (pressed === 'created') return other ? 'oldest' : 'newest'
  if (pressed === 'ended') return other ? 'first_ended' : 'last_ended'
  return other ? `-${pressed}` : pressed
}

/** Whether only the jobs of a page are sorted by a column, and not the list that it is a part of. */
export function sortsPageOnly(key: SortKey): key is PageKey {
  return key in VALUES
}

/** Sort the jobs of a page, unless the server has done so. */
export function sortedJobs<Row extends ListedJob>(
  jobs: readonly Row[],
  { by, reversed }: SortOrder<SortKey>,
  now: number,
): readonly Row[] {
  return sortsPageOnly(by) ? sortedBy(jobs, (job) => VALUES[by](job, now), reversed) : jobs
}
