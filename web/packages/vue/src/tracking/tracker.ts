import { computed, type ComputedRef, type Ref } from 'vue'

import type { CreateJob, JobTypes } from '../api/jobTypes'
import type { Job, JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import { hasEnded } from '../job/states'
import { HAS_PAGE } from '../page/visibility'
import { JobCache } from './jobCache'
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
}

/** Follows jobs until they end, and starts, cancels and retries them. The store and the custom elements use it. */
export class JobTracker {
  readonly status: Readonly<Ref<TrackerStatus>>
  /** The number of logouts (calls of `clear`). */
  readonly session: Readonly<Ref<number>>
  /** All known jobs, ordered by id. */
  readonly jobs: ComputedRef<readonly Job[]>
  readonly unfinishedJobs: ComputedRef<readonly Job[]>
  readonly #client: HoraeClient
  readonly #cache: JobCache
  readonly #poller: JobPoller

  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the previous name is still accepted
  constructor({ client, pace, polling = pace, remembered }: TrackerOptions) {
    this.#client = client
    this.#cache = new JobCache(remembered)
    this.#poller = new JobPoller(client, this.#cache, { ...DEFAULT_POLLING, ...polling })
    this.status = this.#poller.status
    this.session = this.#poller.session
    this.jobs = computed(() => sortedJobs(this.#cache))
    this.unfinishedJobs = computed(() =>
      this.jobs.value.filter((job) => !hasEnded(job) && !this.isGone(job.id)),
    )
  }

  get(id: JobId): Job | undefined {
    return this.#cache.entries.get(id)?.job ?? undefined
  }

  /** Whether the server no longer has the job. */
  isGone(id: JobId): boolean {
    return this.#cache.entries.get(id)?.gone ?? false
  }

  /** Start a job of a public type and track it until it ends. */
  readonly create: CreateJob<JobTypes> = (type, ...parameters) =>
    this.#act(this.#client.jobs.create(type, ...parameters))

  /** Track a job that another request has started until it ends. Returns the newest known version of it. */
  track(job: Job): Job {
    const known = this.#cache.track(job, this.#cache.revision)
    this.#poller.resume() // a user who has started a job is logged in
    return known
  }

  /** Follow a job until the returned function is called. */
  follow(id: JobId): () => void {
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
  async load(): Promise<void> {
    if (!HAS_PAGE) return // the browser will do it
    const session = this.session.value
    const requestedAt = this.#cache.revision
    const unfinished = await listAll(this.#client.jobs, unfinishedJobsOf(await this.#client.me()))
    if (session !== this.session.value) return
    for (const job of unfinished) this.#cache.track(job, requestedAt)
    this.#poller.resume()
  }

  async cancel(id: JobId): Promise<Job> {
    try {
      return await this.#act(this.#client.jobs.cancel(id))
    } catch (error) {
      this.#poller.refresh() // most likely the job has just ended
      throw error
    }
  }

  /** Retry a failed or cancelled job: start a new job with the same parameters, and track it. */
  retry(id: JobId): Promise<Job> {
    return this.#act(this.#client.jobs.retry(id))
  }

  /** Read all active jobs now. */
  refresh(): void {
    this.#poller.refresh()
  }

  forget(id: JobId): void {
    this.#cache.remove(id)
    this.#poller.update()
  }

  /** Forget all jobs, for example after a logout. */
  clear(): void {
    this.#poller.clear()
  }

  /** Forget all jobs and remove all listeners. */
  dispose(): void {
    this.#poller.dispose()
  }

  /** Track the job of a response, and return it with what lists leave out, such as its result. */
  async #act<Found extends Job>(request: Promise<Found>): Promise<Found> {
    const session = this.session.value
    const job = await request
    // A response that arrives after a logout belongs to the previous user.
    return session === this.session.value ? { ...job, ...this.track(job) } : job
  }
}

function sortedJobs(cache: JobCache): Job[] {
  const known = [...cache.entries.values()].flatMap((entry) => entry.job ?? [])
  return known.sort((left, right) => left.id - right.id)
}
