import type { Job, JobId } from '../api/model'
import { plainCell, type Cell, type CreateCell } from '../events/cell'
import { hasEnded, isOutdated } from '../job/states'

export interface CachedJob {
  /** Null until the server has sent the job. */
  readonly job: Job | null
  /** The server no longer has the job. */
  readonly gone: boolean
  /** Updated until the job ends, even when no component follows it. */
  readonly tracked: boolean
  /** The number of components that follow the job. */
  readonly followers: number
  /** The revision of the cache at which this entry was last updated. */
  readonly revision: number
}

/** The jobs at one moment. Each change makes another snapshot, of the same map. */
export interface CacheSnapshot {
  readonly entries: ReadonlyMap<JobId, CachedJob>
}

const UNKNOWN: CachedJob = { job: null, gone: false, tracked: false, followers: 0, revision: 0 }

/**
 * The jobs that a page knows.
 *
 * Responses and events can arrive in any order, so every update passes through here: outdated ones are ignored.
 */
export class JobCache {
  readonly #entries = new Map<JobId, CachedJob>()
  readonly #limit: number
  readonly #snapshot: Cell<CacheSnapshot>
  #revision = 0

  /** @param limit how many ended jobs that no component follows are kept. */
  constructor(limit = 50, createCell: CreateCell = plainCell) {
    this.#limit = limit
    this.#snapshot = createCell<CacheSnapshot>({ entries: this.#entries })
  }

  /** What readers see. A framework whose cell holds it learns of every change. */
  get snapshot(): CacheSnapshot {
    return this.#snapshot.value
  }

  /**
   * A counter of updates. Read it before a request, and pass it with the response to `update`, `track` or `markGone`.
   */
  get revision(): number {
    return this.#revision
  }

  /** Update a job that is in the cache, unless it was updated after `requestedAt`. */
  update(job: Job, requestedAt: number): void {
    if (this.#entries.has(job.id)) this.#store(job, requestedAt)
  }

  /** Add or update a job, and track it until it ends. Returns the newest known version of it. */
  track(job: Job, requestedAt: number): Job {
    this.#store(job, requestedAt, { tracked: true })
    this.#prune()
    return this.#entries.get(job.id)?.job ?? job
  }

  /** Mark a job as gone because a response lacked it, unless it was updated after `requestedAt`. */
  markGone(id: JobId, requestedAt: number): void {
    const entry = this.#entries.get(id)
    if (entry && entry.revision <= requestedAt) {
      this.#change(id, { gone: true, revision: ++this.#revision })
    }
  }

  follow(id: JobId): void {
    this.#change(id, { followers: (this.#entries.get(id)?.followers ?? 0) + 1 })
  }

  unfollow(id: JobId): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    if (entry.followers > 1 || entry.tracked)
      this.#change(id, { followers: Math.max(0, entry.followers - 1) })
    else this.remove(id)
    this.#prune()
  }

  remove(id: JobId): void {
    this.#entries.delete(id)
    this.#notify()
  }

  clear(): void {
    this.#entries.clear()
    this.#notify()
  }

  /** The ids of the jobs that can still change and that a component follows or the cache tracks, in ascending order. */
  activeIds(): JobId[] {
    const active = [...this.#entries].filter(([, entry]) => isActive(entry))
    return active.map(([id]) => id).sort((left, right) => left - right)
  }

  #store(job: Job, requestedAt: number, changes: Partial<CachedJob> = {}): void {
    const known = this.#entries.get(job.id) ?? UNKNOWN
    const outdated =
      known.revision > requestedAt || (known.job !== null && isOutdated(job, known.job))
    const update = outdated ? {} : { job, gone: false, revision: ++this.#revision }
    this.#change(job.id, { ...update, ...changes })
  }

  #change(id: JobId, changes: Partial<CachedJob>): void {
    this.#entries.set(id, { ...(this.#entries.get(id) ?? UNKNOWN), ...changes })
    this.#notify()
  }

  #notify(): void {
    this.#snapshot.value = { entries: this.#entries }
  }

  /** Remove the oldest ended jobs that no component follows, beyond the limit. */
  #prune(): void {
    const unused = [...this.#entries].filter(
      ([, entry]) => entry.followers === 0 && !isActive(entry),
    )
    for (const [id] of unused.slice(0, Math.max(0, unused.length - this.#limit))) this.remove(id)
  }
}

function isActive(entry: CachedJob): boolean {
  const wanted = entry.tracked || entry.followers > 0
  return wanted && !entry.gone && (entry.job === null || !hasEnded(entry.job))
}
