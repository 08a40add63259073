import type { Job, JobId } from '@horae/vue'
import { computed, nextTick, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useRouter } from 'vue-router'

import { useShortcuts } from '@/keyboard/shortcuts'

/** Go through a list of jobs by keys: the job that they speak of, wherever it stands; null is none. */
export function useRowKeys(
  rows: Ref<readonly Job[]>,
  toggle: (job: Job) => void,
): { current: ComputedRef<JobId | null> } {
  const router = useRouter()
  const chosen = shallowRef<JobId | null>(null)
  const place = computed(() => rows.value.findIndex((job) => job.id === chosen.value))
  // A job that has left the list takes the cursor with it: keys must never speak of another than was seen.
  watch(place, (now) => {
    if (now < 0) chosen.value = null
  })

  function move(by: number): void {
    const next = Math.max(0, Math.min(rows.value.length - 1, place.value + by))
    chosen.value = rows.value[next]?.id ?? null
    void nextTick(() =>
      document.querySelector('tr[aria-current]')?.scrollIntoView({ block: 'nearest' }),
    )
  }

  function withCurrent(action: (job: Job) => void): () => void {
    return () => {
      const job = rows.value[place.value]
      if (job) action(job)
    }
  }

  useShortcuts([
    { keys: 'j', does: 'Next job', run: () => move(1) },
    { keys: 'k', does: 'Previous job', run: () => move(-1) },
    {
      keys: 'Enter',
      does: 'Open the job',
      run: withCurrent(({ id }) => void router.push({ name: 'job', params: { id } })),
    },
    { keys: 'x', does: 'Select or deselect the job', run: withCurrent(toggle) },
  ])
  return { current: computed(() => rows.value[place.value]?.id ?? null) }
}
