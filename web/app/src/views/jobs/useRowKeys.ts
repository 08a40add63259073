import type { Job } from '@horae/vue'
import { nextTick, shallowRef, watch, type Ref } from 'vue'
import { useRouter } from 'vue-router'

import { useShortcuts } from '@/keyboard/shortcuts'

/** Go through a list of jobs by keys: the row that they speak of, by its place; -1 is none. */
export function useRowKeys(
  rows: Ref<readonly Job[]>,
  toggle: (job: Job) => void,
): { current: Ref<number> } {
  const router = useRouter()
  const current = shallowRef(-1)
  watch(rows, (jobs) => (current.value = Math.min(current.value, jobs.length - 1)))

  function move(by: number): void {
    current.value = Math.max(0, Math.min(rows.value.length - 1, current.value + by))
    void nextTick(() =>
      document.querySelector('tr[aria-current]')?.scrollIntoView({ block: 'nearest' }),
    )
  }

  function withCurrent(action: (job: Job) => void): () => void {
    return () => {
      const job = rows.value[current.value]
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
    { keys: 'x', does: 'Choose the job, or leave it', run: withCurrent(toggle) },
  ])
  return { current }
}
