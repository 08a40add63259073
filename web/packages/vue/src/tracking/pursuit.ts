import { shallowRef, type Ref } from 'vue'

import type { JobId } from '../api/model'
import type { HoraeClient } from '../client/client'
import { Unauthorized } from '../client/errors'
import { PAGE } from '../page/visibility'
import type { ServerSentEvent } from '../events/parser'
import { Loop } from './loop'
import { jobsOfEvent } from './news'
import { afterAnswer, afterError, FRESH_PACE, nextGap, type PaceOptions } from './pace'
import { listByIds } from './questions'
import type { Shelf } from './shelf'

/**
 * How jobs are followed at present: not at all, by events, by polling, by polling a server that does not answer, or
 * not until somebody logs in.
 */
export type TrackerStatus = 'idle' | 'streaming' | 'polling' | 'retrying' | 'unauthorized'

/** Keeps a shelf up to date: one stream of events and one loop, both at rest when no job is active. */
export class Pursuit {
  readonly status: Ref<TrackerStatus> = shallowRef('idle')
  /** Counts the logouts: what was asked in an earlier session no longer counts. */
  readonly session: Ref<number> = shallowRef(0)
  readonly #client: HoraeClient
  readonly #shelf: Shelf
  readonly #options: PaceOptions
  readonly #loop: Loop
  readonly #stops: readonly (() => void)[]
  #unsubscribe: (() => void) | null = null
  #pace = FRESH_PACE
  #subject = ''
  #streamed = false
  #locked = false

  constructor(client: HoraeClient, shelf: Shelf, options: PaceOptions) {
    this.#client = client
    this.#shelf = shelf
    this.#options = options
    this.#loop = new Loop({ work: (signal) => this.#ask(signal), delay: () => this.#delay() })
    this.#stops = [
      client.onAuthorized(() => this.resume()),
      PAGE.onChange(() => this.#onVisibility()),
    ]
  }

  /** Look again at which jobs are active: start, go on or rest. */
  update(): void {
    const ids = this.#shelf.active()
    if (ids.length === 0 || this.#locked) {
      this.#rest()
      return
    }
    if (!this.#unsubscribe) this.#listen()
    if (this.#subject !== subjectOf(ids)) {
      this.#subject = subjectOf(ids)
      this.#pace = FRESH_PACE
      this.#loop.poke()
    }
    this.#report()
  }

  /** Ask at once if there is anything to ask. */
  refresh(): void {
    if (this.#subject !== '') this.#loop.hurry()
  }

  /** Go on after a login. */
  resume(): void {
    this.#locked = false
    this.update()
  }

  clear(): void {
    this.#locked = false
    this.#shelf.clear()
    this.#rest()
    this.session.value += 1
  }

  dispose(): void {
    for (const stop of this.#stops) stop()
    this.clear()
  }

  #onVisibility(): void {
    if (this.#subject === '') return
    if (PAGE.isHidden()) this.#loop.poke()
    else this.#loop.hurry() // whoever comes back to the page sees what is so now
  }

  #listen(): void {
    this.#streamed = this.#streaming // another may have opened it already
    this.#unsubscribe = this.#client.events.subscribe({
      onEvent: (event) => this.#learn(event),
      onStatus: () => this.#adapt(),
    })
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const ids = this.#shelf.active()
    const asked = this.#shelf.now()
    try {
      const found = await listByIds(this.#client.jobs, ids, signal)
      if (signal.aborted) return
      const there = new Set(found.map((job) => job.id))
      for (const job of found) this.#shelf.accept(job, asked)
      for (const id of ids) if (!there.has(id)) this.#shelf.miss(id, asked)
      // Jobs added while the answer travelled start at the quick pace.
      if (this.#subject === subjectOf(ids)) this.#pace = afterAnswer(this.#pace, this.#options)
    } catch (error) {
      if (signal.aborted) return
      this.#locked = error instanceof Unauthorized
      this.#pace = afterError(this.#pace)
    }
    this.update()
  }

  #learn(event: ServerSentEvent): void {
    const { jobs, missed } = jobsOfEvent(event)
    for (const job of jobs) this.#shelf.accept(job, this.#shelf.now())
    this.update()
    if (missed) this.refresh()
  }

  #adapt(): void {
    const streams = this.#streaming
    // A stream that is tried for in vain must not put off the polls.
    if (streams === this.#streamed || this.#subject === '') return
    this.#streamed = streams
    this.#pace = FRESH_PACE
    if (streams)
      this.#loop.hurry() // what happened before it opened may have been missed
    else this.#loop.poke()
    this.#report()
  }

  get #streaming(): boolean {
    return this.#client.events.status.value === 'open'
  }

  #delay(): number | null {
    const calm = this.#streaming && this.#pace.asked > 0 && this.#pace.errors === 0
    if (calm) return this.#options.reconcile
    const gap = nextGap(this.#pace, this.#options)
    return PAGE.isHidden() ? Math.max(gap, this.#options.slow) : gap
  }

  #rest(): void {
    this.#loop.stop()
    this.#unsubscribe?.()
    this.#unsubscribe = null
    this.#subject = ''
    this.#streamed = false
    this.#pace = FRESH_PACE
    this.#report()
  }

  #report(): void {
    if (this.#locked) this.status.value = 'unauthorized'
    else if (this.#subject === '') this.status.value = 'idle'
    else if (this.#pace.errors > 0) this.status.value = 'retrying'
    else this.status.value = this.#streaming ? 'streaming' : 'polling'
  }
}

function subjectOf(ids: readonly JobId[]): string {
  return ids.join(',')
}
