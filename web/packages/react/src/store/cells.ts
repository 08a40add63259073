import type { Cell } from '@horae/client'

/** Cells that tell their listeners of changes: what React's `useSyncExternalStore` subscribes to. */
export class NotifyingCells {
  readonly #listeners = new Set<() => void>()
  #scheduled = false

  /** Make a cell. */
  readonly create = <Value>(initial: Value): Cell<Value> => {
    let current = initial
    const changed = (): void => this.#schedule()
    return {
      get value() {
        return current
      },
      set value(next) {
        if (Object.is(current, next)) return
        current = next
        changed()
      },
    }
  }

  /** Call the listener after changes. Returns a function that removes it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Many changes at once, such as a list of jobs, are one notification. */
  #schedule(): void {
    if (this.#scheduled || this.#listeners.size === 0) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      for (const listener of [...this.#listeners]) listener()
    })
  }
}
