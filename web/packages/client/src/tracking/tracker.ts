import type { CreateJob, JobTypes } from '../api/jobTypes'
import type { Job, JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import { plainCell, type Cell, type CreateCell } from '../events/cell'
import { hasEnded } from '../job/states'
import { HAS_PAGE } from '../page/visibility'
import { JobCache, type CachedJob, type CacheSnapshot } from './jobCache'
import { JobPoller, type TrackerStatus } from './poller'
import { DEFAULT_POLLING, type PollingOptions } from './polling'
import { listAll, unfinishedJobsOf } from './requests'

export interface TrackerOptions {
  readonly client: HoraeClient
  readonly polling?: Partial<PollingOptions>
  /** @deprecated Renamed to `polling`. */
  readonly pace?: Partial<PollingOptions>
  /** How many ended jobs that no component follows are kept; 50 by default. */
  readonly remembered?: number
  /** How values that change are held: Vue's `shallowRef`, for example. Plain objects by default. */
  readonly createCell?: CreateCell
}

/**
 * Follows jobs until they end, and starts, cancels and retries them, by one event stream and one polling loop for all jobs.
 * It depends on no framework: the cells that `createCell` makes tell one when to read again. Its functions may be passed on
 * alone: `const { create, load } = tracker`.
 */
export class JobTracker {
  readonly status: Readonly<Cell<TrackerStatus>>
  /** The number of logouts (calls of `clear`). */
  readonly session: Readonly<Cell<number>>
  /** All known jobs, ordered by id. */
  readonly jobs: Readonly<Cell<readonly Job[]>>
  readonly unfinishedJobs: Readonly<Cell<readonly Job[]>>
  readonly #client: HoraeClient
  readonly #cache: JobCache
  readonly #poller: JobPoller

  constructor(options: TrackerOptions) {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the previous name is still accepted
    const { client, pace, polling = pace, remembered, createCell = plainCell } = options
    const intervals = { ...DEFAULT_POLLING, ...polling }
    this.#client = client
    this.#cache = new JobCache(remembered, createCell)
    this.#poller = new JobPoller(client, this.#cache, intervals, createCell)
    this.status = this.#poller.status
    this.session = this.#poller.session
    this.jobs = computedOf(this.#cache, ({ entries }) => sortedJobs(entries.values()))
    this.unfinishedJobs = computedOf(this.#cache, ({ entries }) =>
      this.jobs.value.filter((job) => !hasEnded(job) && !entries.get(job.id)?.gone),
    )
  }

  /** The newest known version of a job. */
  readonly get = (id: JobId): Job | undefined =>
    this.#cache.snapshot.entries.get(id)?.job ?? undefined

  /** Whether the server no longer has the job. */
  readonly isGone = (id: JobId): boolean => this.#cache.snapshot.entries.get(id)?.gone ?? false

  /** Start a job of a public type and track it until it ends. */
  readonly create: CreateJob<JobTypes> = (type, ...parameters) =>
    this.#act(this.#client.jobs.create(type, ...parameters))

  /** Track a job that another request has started until it ends. Returns the newest known version of it. */
  readonly track = (job: Job): Job => {
    const known = this.#cache.track(job, this.#cache.revision)
    this.#poller.resume() // a user who has started a job is logged in
    return known
  }

  /** Follow a job until the returned function is called. */
  readonly follow = (id: JobId): (() => void) => {
    const session = this.session.value
    let isFollowing = true
    this.#cache.follow(id)
    this.#poller.update()
    return () => {
      if (isFollowing && session === this.session.value) this.#cache.unfollow(id)
      isFollowing = false
      this.#poller.update()
    }
  }

  /**
   * Track all unfinished jobs of the user, for example after a login. Jobs of other users, which staff can see, are
   * left out.
   */
  readonly load = async (): Promise<void> => {
    if (!HAS_PAGE) return // the browser will do it
    const session = this.session.value
    const requestedAt = this.#cache.revision
    const unfinished = await listAll(this.#client.jobs, unfinishedJobsOf(await this.#client.me()))
    if (session !== this.session.value) return
    for (const job of unfinished) this.#cache.track(job, requestedAt)
    this.#poller.resume()
  }

  readonly cancel = async (id: JobId): Promise<Job> => {
    try {
      return await this.#act(this.#client.jobs.cancel(id))
    } catch (error) {
      this.#poller.refresh() // most likely the job has just ended
      throw error
    }
  }

  /** Retry a failed or cancelled job: start a new job with the same parameters, and track it. */
  readonly retry = (id: JobId): Promise<Job> => this.#act(this.#client.jobs.retry(id))

  /** Read all active jobs now. */
  readonly refresh = (): void => this.#poller.refresh()

  readonly forget = (id: JobId): void => {
    this.#cache.remove(id)
    this.#poller.update()
  }

  /** Forget all jobs, for example after a logout. */
  readonly clear = (): void => this.#poller.clear()

  /** Forget all jobs and remove all listeners. */
  readonly dispose = (): void => this.#poller.dispose()

  /** Track the job of a response, and return it with what lists leave out, such as its result. */
  async #act<Found extends Job>(request: Promise<Found>): Promise<Found> {
    const session = this.session.value
    const job = await request
    // A response that arrives after a logout belongs to the previous user.
    return session === this.session.value ? { ...job, ...this.track(job) } : job
  }
}

/** Hold a value that is computed from the cache, once for each snapshot of it. */
function computedOf<Value>(
  cache: JobCache,
  compute: (snapshot: CacheSnapshot) => Value,
): Readonly<Cell<Value>> {
  let computed: { readonly of: CacheSnapshot; readonly value: Value } | null = null
  return {
    get value() {
      const { snapshot } = cache
      if (computed?.of !== snapshot) computed = { of: snapshot, value: compute(snapshot) }
      return computed.value
    },
  }
}

function sortedJobs(entries: Iterable<CachedJob>): Job[] {
  const known = [...entries].flatMap((entry) => entry.job ?? [])
  return known.sort((left, right) => left.id - right.id)
}
