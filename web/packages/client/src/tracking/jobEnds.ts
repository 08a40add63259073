import type { Job, JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import type { ServerSentEvent } from '../events/parser'
import { hasEnded } from '../job/states'
import { parseJobEvent } from './jobEvents'
import type { RememberedIds } from './rememberedIds'
import { listAll, listByIds, unfinishedJobsOf } from './requests'

export interface JobEndsOptions {
  readonly client: HoraeClient
  readonly remembered: RememberedIds
  /** Whether a job is of interest. */
  readonly matches: (job: Job) => boolean
  /** Called once for each of the user's jobs that ends. */
  readonly onEnd: (job: Job) => void
  /** Milliseconds between two readings of the list, for ends that no event has reported. */
  readonly interval: number
}

/**
 * Reports the end of each job of the user that matches, whoever has started it: this page, another tab, or this tab before
 * a reload. Jobs that had ended before the page first saw them are not reported.
 */
export class JobEnds {
  readonly #options: JobEndsOptions
  /** The jobs that have not ended, as far as is known. */
  readonly #unfinished = new Set<JobId>()
  /** The jobs whose end has been reported: an older response must not report it again. */
  readonly #reported = new Set<JobId>()
  #userId: string | null = null
  #unsubscribe: (() => void) | null = null
  #timer: ReturnType<typeof setInterval> | undefined
  #stopAuthorized: (() => void) | null = null
  #stopped = false

  constructor(options: JobEndsOptions) {
    this.#options = options
  }

  start(): void {
    const { client, remembered, interval } = this.#options
    for (const id of remembered.read()) this.#unfinished.add(id)
    this.#unsubscribe = client.events.subscribe({ onEvent: (event) => this.#onEvent(event) })
    this.#stopAuthorized = client.onAuthorized(() => this.#onLoginChange())
    this.#timer = setInterval(() => void this.#reconcile(), interval)
    void this.#reconcile()
  }

  /** Stop for good: a response that is still on its way is ignored. */
  stop(): void {
    this.#stopped = true
    this.#userId = null
    clearInterval(this.#timer)
    this.#unsubscribe?.()
    this.#stopAuthorized?.()
  }

  /** The jobs of the previous user are not those of the next one. */
  #onLoginChange(): void {
    this.#userId = null
    this.#unfinished.clear()
    this.#remember()
    void this.#reconcile()
  }

  #onEvent(event: ServerSentEvent): void {
    const { jobs, missed } = parseJobEvent(event)
    // Staff receive the events of all users. Until it is known who the user is, the list tells which jobs are theirs.
    for (const job of jobs) if (this.#userId !== null && job.owner === this.#userId) this.#see(job)
    if (missed) void this.#reconcile()
  }

  /** Read the unfinished jobs, and those that were unfinished before and no longer are. */
  async #reconcile(): Promise<void> {
    const { client } = this.#options
    try {
      const me = await client.me()
      if (this.#stopped) return
      this.#userId = me.id
      const unfinished = await listAll(client.jobs, unfinishedJobsOf(me))
      const known = new Set(unfinished.map((job) => job.id))
      const missing = [...this.#unfinished].filter((each) => !known.has(each))
      const ended = missing.length === 0 ? [] : await listByIds(client.jobs, missing)
      if (this.#userId !== me.id) return // stopped, or another user has logged in
      for (const job of [...unfinished, ...ended]) this.#see(job)
      this.#forgetGone(missing, ended)
    } catch {
      return // the next reading will find what this one has missed
    }
  }

  #see(job: Job): void {
    if (!this.#options.matches(job) || this.#reported.has(job.id)) return
    if (hasEnded(job)) {
      this.#unfinished.delete(job.id)
      this.#reported.add(job.id)
      this.#remember()
      this.#options.onEnd(job)
    } else if (!this.#unfinished.has(job.id)) {
      this.#unfinished.add(job.id)
      this.#remember()
    }
  }

  #forgetGone(missing: readonly JobId[], ended: readonly Job[]): void {
    const found = new Set(ended.map((job) => job.id))
    for (const id of missing) if (!found.has(id)) this.#unfinished.delete(id)
    this.#remember()
  }

  #remember(): void {
    this.#options.remembered.write([...this.#unfinished])
  }
}
