import type { Job, JobDetail, JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import { HoraeError } from '../client/errors'
import { hasEnded, isOutdated } from '../job/states'
import type { ServerSentEvent } from '../events/parser'
import { PAGE } from '../page/visibility'
import { parseJobEvent } from './jobEvents'
import { PollLoop } from './pollLoop'
import {
  afterError,
  afterResponse,
  DEFAULT_POLLING,
  INITIAL_STATE,
  nextInterval,
  type PollingOptions,
} from './polling'

export interface FollowOptions {
  /** Called with each change of the job. */
  readonly onChange?: (job: Job) => void
  /** Aborting it ends the following; the promise then rejects with its reason. The job goes on. */
  readonly signal?: AbortSignal
  readonly polling?: Partial<PollingOptions>
}

/**
 * Follow a job by events and polls until it ends, and return it with its result. It depends on no framework.
 *
 * @throws {HoraeError} The server refuses to show the job, for example because it was deleted. Other errors are retried.
 */
export function followJob(
  client: HoraeClient,
  id: JobId,
  options: FollowOptions = {},
): Promise<JobDetail> {
  return new Promise((resolve, reject) => {
    new Following(client, id, options, { resolve, reject }).start()
  })
}

interface Settle {
  readonly resolve: (job: JobDetail) => void
  readonly reject: (reason: unknown) => void
}

class Following {
  readonly #client: HoraeClient
  readonly #id: JobId
  readonly #options: FollowOptions
  readonly #polling: PollingOptions
  readonly #settle: Settle
  readonly #loop: PollLoop
  #state = INITIAL_STATE
  #known: Job | null = null
  #unsubscribe: (() => void) | null = null

  constructor(client: HoraeClient, id: JobId, options: FollowOptions, settle: Settle) {
    this.#client = client
    this.#id = id
    this.#options = options
    this.#polling = { ...DEFAULT_POLLING, ...options.polling }
    this.#settle = settle
    this.#loop = new PollLoop({ work: (signal) => this.#poll(signal), delay: () => this.#delay() })
  }

  start(): void {
    const { signal } = this.#options
    if (signal?.aborted) {
      this.#settle.reject(signal.reason)
      return
    }
    signal?.addEventListener('abort', this.#abort)
    this.#unsubscribe = this.#client.events.subscribe({ onEvent: (event) => this.#onEvent(event) })
    this.#loop.runNow()
  }

  async #poll(signal: AbortSignal): Promise<void> {
    try {
      const job = await this.#client.jobs.get(this.#id, signal)
      this.#state = afterResponse(this.#state, this.#polling)
      this.#see(job)
      if (hasEnded(job)) this.#end(() => this.#settle.resolve(job))
    } catch (error) {
      this.#state = afterError(this.#state)
      const refused = error instanceof HoraeError && error.status < 500
      if (refused && !signal.aborted) this.#end(() => this.#settle.reject(error))
    }
  }

  #onEvent(event: ServerSentEvent): void {
    const { jobs, missed } = parseJobEvent(event)
    const job = jobs.find(({ id }) => id === this.#id)
    if (job && !hasEnded(job)) this.#see(job)
    // An end is read once more, because events do not contain the result.
    if (missed || (job && hasEnded(job))) this.#loop.runNow()
  }

  #see(job: Job): void {
    if (this.#known !== null && isOutdated(job, this.#known)) return
    const changed = JSON.stringify(job) !== JSON.stringify(this.#known)
    this.#known = job
    if (changed) this.#options.onChange?.(job)
  }

  #delay(): number {
    const isCurrent = this.#state.errors === 0 && this.#client.events.status.value === 'open'
    if (isCurrent) return this.#polling.reconcile
    const interval = nextInterval(this.#state, this.#polling)
    return PAGE.isHidden() ? Math.max(interval, this.#polling.slow) : interval
  }

  readonly #abort = (): void => {
    this.#end(() => this.#settle.reject(this.#options.signal?.reason))
  }

  #end(settle: () => void): void {
    this.#loop.stop()
    this.#unsubscribe?.()
    this.#options.signal?.removeEventListener('abort', this.#abort)
    settle()
  }
}
