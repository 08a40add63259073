import { computed, shallowRef, type ComputedRef, type ShallowRef } from 'vue'

interface PickedPoint {
  readonly time: ShallowRef<number | null>
  readonly index: ComputedRef<number | null>
  readonly pick: (at: number) => void
}

/** The point of a chart that was pressed or reached by key; it stays, so that its links can be followed. */
export function usePickedPoint(times: () => readonly number[]): PickedPoint {
  const time = shallowRef<number | null>(null)
  const index = computed(() => {
    const found = time.value === null ? -1 : times().indexOf(time.value)
    return found < 0 ? null : found
  })

  /** Keep this point, or let it go if it is kept already. */
  function pick(at: number): void {
    const wanted = times()[at] ?? null
    time.value = time.value === wanted ? null : wanted
  }

  return { time, index, pick }
}
