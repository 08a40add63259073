import type { Job, JobId } from '@horae/vue'
import { computed, nextTick, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useRouter } from 'vue-router'

import { useShortcuts } from '@/keyboard/shortcuts'
import { texts } from '@/texts/texts'

export interface UseRowNavigationReturn {
  /** The id of the current job, or null. */
  readonly current: ComputedRef<JobId | null>
  /** Make a job the current one; null: none. */
  readonly choose: (id: JobId | null) => void
}

function bounded(index: number, length: number): number {
  return Math.max(0, Math.min(length - 1, index))
}

/** Move through a list of jobs by keyboard. */
export function useRowNavigation(
  rows: Ref<readonly Job[]>,
  toggle: (job: Job) => void,
): UseRowNavigationReturn {
  const router = useRouter()
  const currentId = shallowRef<JobId | null>(null)
  const currentIndex = computed(() => rows.value.findIndex((job) => job.id === currentId.value))
  // If the current job leaves the list, no job is current: a shortcut must never apply to a job that was not selected.
  watch(currentIndex, (index) => {
    if (index < 0) currentId.value = null
  })

  function move(by: number): void {
    currentId.value = rows.value[bounded(currentIndex.value + by, rows.value.length)]?.id ?? null
    void nextTick(() =>
      document.querySelector('tr[aria-current]')?.scrollIntoView({ block: 'nearest' }),
    )
  }

  function withCurrent(action: (job: Job) => void): () => void {
    return () => {
      const job = rows.value[currentIndex.value]
      if (job) action(job)
    }
  }

  useJobShortcuts({
    move,
    close: () => (currentId.value = null),
    open: withCurrent(({ id }) => void router.push({ name: 'job', params: { id } })),
    toggle: withCurrent(toggle),
  })
  return {
    current: computed(() => rows.value[currentIndex.value]?.id ?? null),
    choose: (id) => (currentId.value = id),
  }
}

interface JobShortcuts {
  readonly move: (by: number) => void
  readonly close: () => void
  readonly open: () => void
  readonly toggle: () => void
}

function useJobShortcuts({ move, close, open, toggle }: JobShortcuts): void {
  const words = computed(() => texts.value.jobs.shortcuts)
  useShortcuts([
    { keys: 'ArrowDown', description: () => words.value.next, run: () => move(1) },
    { keys: 'ArrowUp', description: () => words.value.previous, run: () => move(-1) },
    { keys: 'j', description: () => words.value.next, run: () => move(1) },
    { keys: 'k', description: () => words.value.previous, run: () => move(-1) },
    { keys: 'Escape', description: () => words.value.closePreview, run: close },
    { keys: 'Enter', description: () => words.value.open, run: open },
    { keys: 'x', description: () => words.value.select, run: toggle },
  ])
}
