import { shallowReactive } from 'vue'

import type { Job, JobId } from '../api/model'
import { hasEnded, isOutdated } from '../job/states'

/** What is known of one job. */
export interface ShelfEntry {
  /** Null until the server has told of it. */
  readonly job: Job | null
  /** The server no longer has it. */
  readonly gone: boolean
  /** Watched to its end even when nothing on the page holds it. */
  readonly kept: boolean
  /** How many parts of the page show it. */
  readonly holders: number
  /** When this was learnt, on the shelf's own clock. */
  readonly learnt: number
}

const UNKNOWN: ShelfEntry = { job: null, gone: false, kept: false, holders: 0, learnt: 0 }

/** The jobs a page knows, and the only place where a report about one is taken or refused. */
export class Shelf {
  readonly #entries = shallowReactive(new Map<JobId, ShelfEntry>())
  readonly #limit: number
  #clock = 0

  /** @param limit how many ended jobs that nothing holds are remembered. */
  constructor(limit = 50) {
    this.#limit = limit
  }

  get entries(): ReadonlyMap<JobId, ShelfEntry> {
    return this.#entries
  }

  /** A moment to hand to `accept` and `miss` with the answer to a question that is sent now. */
  now(): number {
    return this.#clock
  }

  /** Take a report about a known job unless something newer has been learnt since `asked`. */
  accept(job: Job, asked: number): void {
    if (this.#entries.has(job.id)) this.#learn(job, asked)
  }

  /** Take a report about any job and watch it to its end; returns the newest that is known of it. */
  keep(job: Job, asked: number): Job {
    this.#learn(job, asked, { kept: true })
    this.#prune()
    return this.#entries.get(job.id)?.job ?? job
  }

  /** Take note that the answer to a question sent at `asked` had no such job. */
  miss(id: JobId, asked: number): void {
    const entry = this.#entries.get(id)
    if (entry && entry.learnt <= asked) this.#change(id, { gone: true, learnt: ++this.#clock })
  }

  hold(id: JobId): void {
    this.#change(id, { holders: (this.#entries.get(id)?.holders ?? 0) + 1 })
  }

  release(id: JobId): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    if (entry.holders > 1 || entry.kept)
      this.#change(id, { holders: Math.max(0, entry.holders - 1) })
    else this.#entries.delete(id)
    this.#prune()
  }

  remove(id: JobId): void {
    this.#entries.delete(id)
  }

  clear(): void {
    this.#entries.clear()
  }

  /** The jobs worth asking about, in ascending order. */
  active(): JobId[] {
    const active = [...this.#entries].filter(([, entry]) => isActive(entry))
    return active.map(([id]) => id).sort((left, right) => left - right)
  }

  #learn(job: Job, asked: number, changed: Partial<ShelfEntry> = {}): void {
    const known = this.#entries.get(job.id) ?? UNKNOWN
    const stale = known.learnt > asked || (known.job !== null && isOutdated(job, known.job))
    const news = stale ? {} : { job, gone: false, learnt: ++this.#clock }
    this.#change(job.id, { ...news, ...changed })
  }

  #change(id: JobId, changed: Partial<ShelfEntry>): void {
    this.#entries.set(id, { ...(this.#entries.get(id) ?? UNKNOWN), ...changed })
  }

  #prune(): void {
    const spare = [...this.#entries].filter(([, entry]) => entry.holders === 0 && !isActive(entry))
    for (const [id] of spare.slice(0, Math.max(0, spare.length - this.#limit)))
      this.#entries.delete(id)
  }
}

function isActive(entry: ShelfEntry): boolean {
  const watched = entry.kept || entry.holders > 0
  return watched && !entry.gone && (entry.job === null || !hasEnded(entry.job))
}
