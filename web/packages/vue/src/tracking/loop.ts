export interface LoopOptions {
  /** One round. It must not throw, and should end early when the signal is aborted. */
  readonly work: (signal: AbortSignal) => Promise<void>
  /** Milliseconds before the next round, or null to rest until poked. */
  readonly delay: () => number | null
}

/** A repeated piece of work: one timer or one run at a time, never both, never two of either. */
export class Loop {
  readonly #options: LoopOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #run: AbortController | null = null
  #again = false

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** Wait `delay()` from now in place of the wait under way; a run under way will ask for its delay itself. */
  poke(): void {
    if (!this.#run) this.#schedule(this.#options.delay())
  }

  /** Run now, or once more right after the present run. */
  hurry(): void {
    if (this.#run) this.#again = true
    else this.#schedule(0)
  }

  /** Wait for nothing and abandon the present run. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#run?.abort()
    this.#run = null
    this.#again = false
  }

  #schedule(delay: number | null): void {
    clearTimeout(this.#timer)
    if (delay !== null) this.#timer = setTimeout(() => void this.#round(), delay)
  }

  async #round(): Promise<void> {
    const run = new AbortController()
    this.#run = run
    await this.#options.work(run.signal)
    if (this.#run !== run) return // stopped, and perhaps started anew, while the answer travelled
    const delay = this.#again ? 0 : this.#options.delay()
    this.#run = null
    this.#again = false
    this.#schedule(delay)
  }
}
