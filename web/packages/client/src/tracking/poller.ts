import type { JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import { Unauthorized } from '../client/errors'
import { HAS_PAGE, PAGE } from '../page/visibility'
import type { Cell, CreateCell } from '../events/cell'
import type { ServerSentEvent } from '../events/parser'
import type { JobCache } from './jobCache'
import { parseJobEvent } from './jobEvents'
import {
  afterError,
  afterResponse,
  INITIAL_STATE,
  nextInterval,
  type PollingOptions,
} from './polling'
import { PollLoop } from './pollLoop'
import { listByIds } from './requests'

/**
 * How jobs are updated at present: `idle` without active jobs, `streaming` by events, `polling`, `retrying` while the
 * server does not answer, or `unauthorized` until the user logs in.
 */
export type TrackerStatus = 'idle' | 'streaming' | 'polling' | 'retrying' | 'unauthorized'

/** Keeps a job cache up to date by one event stream and one polling loop. Both are off while no job is active. */
export class JobPoller {
  readonly status: Cell<TrackerStatus>
  /** The number of logouts. Responses to requests of an earlier session are ignored. */
  readonly session: Cell<number>
  readonly #client: HoraeClient
  readonly #cache: JobCache
  readonly #options: PollingOptions
  readonly #loop: PollLoop
  readonly #cleanups: readonly (() => void)[]
  #unsubscribe: (() => void) | null = null
  #polling = INITIAL_STATE
  /** The ids of the polled jobs, as one string; empty while nothing is polled. */
  #polledIds = ''
  #wasStreaming = false
  #unauthorized = false

  constructor(
    client: HoraeClient,
    cache: JobCache,
    options: PollingOptions,
    createCell: CreateCell,
  ) {
    this.status = createCell<TrackerStatus>('idle')
    this.session = createCell(0)
    this.#client = client
    this.#cache = cache
    this.#options = options
    this.#loop = new PollLoop({
      work: (signal) => this.#poll(signal),
      delay: () => this.#delay(),
    })
    this.#cleanups = [
      client.onAuthorized(() => this.resume()),
      PAGE.onChange(() => this.#onVisibilityChange()),
    ]
  }

  /** Start, continue or stop, depending on which jobs are active now. */
  update(): void {
    const ids = this.#cache.activeIds()
    if (!HAS_PAGE || ids.length === 0 || this.#unauthorized) {
      this.#stop()
      return
    }
    if (!this.#unsubscribe) this.#subscribe()
    if (this.#polledIds !== keyOf(ids)) {
      this.#polledIds = keyOf(ids)
      this.#polling = INITIAL_STATE
      this.#loop.reschedule()
    }
    this.#updateStatus()
  }

  /** Poll now if any job is active. */
  refresh(): void {
    if (this.#polledIds !== '') this.#loop.runNow()
  }

  /** Continue after a login. */
  resume(): void {
    this.#unauthorized = false
    this.update()
  }

  clear(): void {
    this.#unauthorized = false
    this.#cache.clear()
    this.#stop()
    this.session.value += 1
  }

  dispose(): void {
    for (const cleanup of this.#cleanups) cleanup()
    this.clear()
  }

  #onVisibilityChange(): void {
    if (this.#polledIds === '') return
    if (PAGE.isHidden()) this.#loop.reschedule()
    else this.#loop.runNow() // a user who returns to the page must not see old data
  }

  #subscribe(): void {
    this.#wasStreaming = this.#isStreaming // another subscriber may have opened the stream already
    this.#unsubscribe = this.#client.events.subscribe({
      onEvent: (event) => this.#onEvent(event),
      onStatus: () => this.#onStreamStatus(),
    })
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const ids = this.#cache.activeIds()
    const requestedAt = this.#cache.revision
    try {
      const found = await listByIds(this.#client.jobs, ids, signal)
      if (signal.aborted) return
      const foundIds = new Set(found.map((job) => job.id))
      for (const job of found) this.#cache.update(job, requestedAt)
      for (const id of ids) if (!foundIds.has(id)) this.#cache.markGone(id, requestedAt)
      // If jobs were added during the request, polling starts over with the short interval.
      if (this.#polledIds === keyOf(ids))
        this.#polling = afterResponse(this.#polling, this.#options)
    } catch (error) {
      if (signal.aborted) return
      this.#unauthorized = error instanceof Unauthorized
      this.#polling = afterError(this.#polling)
    }
    this.update()
  }

  #onEvent(event: ServerSentEvent): void {
    const { jobs, missed } = parseJobEvent(event)
    for (const job of jobs) this.#cache.update(job, this.#cache.revision)
    this.update()
    if (missed) this.refresh()
  }

  #onStreamStatus(): void {
    const isStreaming = this.#isStreaming
    // A failed attempt to open the stream changes nothing, so it must not delay the next poll.
    if (isStreaming === this.#wasStreaming || this.#polledIds === '') return
    this.#wasStreaming = isStreaming
    this.#polling = INITIAL_STATE
    if (isStreaming)
      this.#loop.runNow() // events from before the stream opened may have been missed
    else this.#loop.reschedule()
    this.#updateStatus()
  }

  get #isStreaming(): boolean {
    return this.#client.events.status.value === 'open'
  }

  #delay(): number | null {
    const isCurrent = this.#isStreaming && this.#polling.requests > 0 && this.#polling.errors === 0
    if (isCurrent) return this.#options.reconcile
    const interval = nextInterval(this.#polling, this.#options)
    return PAGE.isHidden() ? Math.max(interval, this.#options.slow) : interval
  }

  #stop(): void {
    this.#loop.stop()
    this.#unsubscribe?.()
    this.#unsubscribe = null
    this.#polledIds = ''
    this.#wasStreaming = false
    this.#polling = INITIAL_STATE
    this.#updateStatus()
  }

  #updateStatus(): void {
    if (this.#unauthorized) this.status.value = 'unauthorized'
    else if (this.#polledIds === '') this.status.value = 'idle'
    else if (this.#polling.errors > 0) this.status.value = 'retrying'
    else this.status.value = this.#isStreaming ? 'streaming' : 'polling'
  }
}

function keyOf(ids: readonly JobId[]): string {
  return ids.join(',')
}
