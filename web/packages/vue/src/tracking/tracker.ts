import { computed, type ComputedRef, type Ref } from 'vue'

import type { Job, JobId, JobQuery } from '../api/model'
import type { HoraeClient } from '../client/client'
import { hasEnded } from '../job/states'
import { DEFAULT_PACE, type PaceOptions } from './pace'
import { Pursuit, type TrackerStatus } from './pursuit'
import { listAll } from './questions'
import { Shelf } from './shelf'

export interface TrackerOptions {
  readonly client: HoraeClient
  readonly pace?: Partial<PaceOptions>
  /** Ended jobs that are remembered though nothing shows them. */
  readonly remembered?: number
}

/** Follows jobs to their end, and acts on them. The store and the custom elements are made of it. */
export class JobTracker {
  readonly status: Readonly<Ref<TrackerStatus>>
  /** Counts the logouts (`clear`). */
  readonly session: Readonly<Ref<number>>
  /** Every job that is known, in the order of their ids. */
  readonly jobs: ComputedRef<readonly Job[]>
  readonly unfinishedJobs: ComputedRef<readonly Job[]>
  readonly #client: HoraeClient
  readonly #shelf: Shelf
  readonly #pursuit: Pursuit

  constructor({ client, pace, remembered }: TrackerOptions) {
    this.#client = client
    this.#shelf = new Shelf(remembered)
    this.#pursuit = new Pursuit(client, this.#shelf, { ...DEFAULT_PACE, ...pace })
    this.status = this.#pursuit.status
    this.session = this.#pursuit.session
    this.jobs = computed(() => sortedJobs(this.#shelf))
    this.unfinishedJobs = computed(() =>
      this.jobs.value.filter((job) => !hasEnded(job) && !this.isGone(job.id)),
    )
  }

  get(id: JobId): Job | undefined {
    return this.#shelf.entries.get(id)?.job ?? undefined
  }

  /** Whether the server no longer has the job. */
  isGone(id: JobId): boolean {
    return this.#shelf.entries.get(id)?.gone ?? false
  }

  /** Start a job of a public type and follow it to its end. */
  create(type: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<Job> {
    return this.#act(this.#client.jobs.create(type, parameters))
  }

  /** Follow a job that another request has started; returns the newest that is known of it. */
  track(job: Job): Job {
    const known = this.#shelf.keep(job, this.#shelf.now())
    this.#pursuit.resume() // whoever could start a job is known to the server
    return known
  }

  /** Follow a job while something shows it; returns how to let go. */
  follow(id: JobId): () => void {
    const session = this.session.value
    let held = true
    this.#shelf.hold(id)
    this.#pursuit.update()
    return () => {
      if (held && session === this.session.value) this.#shelf.release(id)
      held = false
      this.#pursuit.update()
    }
  }

  /** Follow all unfinished jobs of whoever asks, as after a login; of staff, who see everybody's, only their own. */
  async load(): Promise<void> {
    const session = this.session.value
    const asked = this.#shelf.now()
    const unfinished = await listAll(this.#client.jobs, await this.#own())
    if (session !== this.session.value) return
    for (const job of unfinished) this.#shelf.keep(job, asked)
    this.#pursuit.resume()
  }

  async cancel(id: JobId): Promise<Job> {
    try {
      return await this.#act(this.#client.jobs.cancel(id))
    } catch (error) {
      this.#pursuit.refresh() // most likely the job has just ended
      throw error
    }
  }

  /** Start a failed or cancelled job anew and follow the new one. */
  retry(id: JobId): Promise<Job> {
    return this.#act(this.#client.jobs.retry(id))
  }

  /** Ask about all active jobs at once. */
  refresh(): void {
    this.#pursuit.refresh()
  }

  forget(id: JobId): void {
    this.#shelf.remove(id)
    this.#pursuit.update()
  }

  /** Forget everything, as after a logout. */
  clear(): void {
    this.#pursuit.clear()
  }

  /** Clear, and listen to nothing any more. */
  dispose(): void {
    this.#pursuit.dispose()
  }

  /** A question for the unfinished jobs of whoever asks. */
  async #own(): Promise<JobQuery> {
    const states = ['!finished', '!failed', '!cancelled']
    const { id, sees_all } = await this.#client.me()
    return sees_all ? { states, owner: id } : { states }
  }

  async #act(answer: Promise<Job>): Promise<Job> {
    const session = this.session.value
    const job = await answer
    // An answer that comes after a logout belongs to whoever has left.
    return session === this.session.value ? this.track(job) : job
  }
}

function sortedJobs(shelf: Shelf): Job[] {
  const known = [...shelf.entries.values()].flatMap((entry) => entry.job ?? [])
  return known.sort((left, right) => left.id - right.id)
}
