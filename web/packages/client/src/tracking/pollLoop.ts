export interface PollLoopOptions {
  /** One run. It must not throw, and should end early when the signal is aborted. */
  readonly work: (signal: AbortSignal) => Promise<void>
  /** Milliseconds until the next run; null to wait for `reschedule` or `runNow`. */
  readonly delay: () => number | null
}

/** Runs an asynchronous function again and again. There is never more than one timer or one run at a time. */
export class PollLoop {
  readonly #options: PollLoopOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #run: AbortController | null = null
  #runAgain = false

  constructor(options: PollLoopOptions) {
    this.#options = options
  }

  /** Restart the wait with the present `delay()`. During a run this does nothing: its end asks for the delay anyway. */
  reschedule(): void {
    if (!this.#run) this.#schedule(this.#options.delay())
  }

  /** Run now, or once more immediately after the run in progress. */
  runNow(): void {
    if (this.#run) this.#runAgain = true
    else this.#schedule(0)
  }

  /** Cancel the timer and abort the run in progress. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#run?.abort()
    this.#run = null
    this.#runAgain = false
  }

  /** @deprecated Renamed to `reschedule`. */
  poke(): void {
    this.reschedule()
  }

  /** @deprecated Renamed to `runNow`. */
  hurry(): void {
    this.runNow()
  }

  #schedule(delay: number | null): void {
    clearTimeout(this.#timer)
    if (delay !== null) this.#timer = setTimeout(() => void this.#execute(), delay)
  }

  async #execute(): Promise<void> {
    const run = new AbortController()
    this.#run = run
    await this.#options.work(run.signal)
    if (this.#run !== run) return // stopped, and perhaps started again, during the run
    const delay = this.#runAgain ? 0 : this.#options.delay()
    this.#run = null
    this.#runAgain = false
    this.#schedule(delay)
  }
}
