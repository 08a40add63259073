import type { JobId } from '@horae/vue'
import { computed, shallowRef, type ComputedRef, type Ref } from 'vue'

import type { ListedJob } from '@/jobs/listed'

export interface UseHeldRowsReturn {
  readonly shown: ComputedRef<readonly ListedJob[]>
  /** How many jobs have come to the list since it was held. */
  readonly arrived: ComputedRef<number>
  readonly hold: () => void
  readonly release: () => void
}

/** Hold rows where they are while the pointer is on one of them, so that a press reaches what was aimed at. */
export function useHeldRows(rows: Ref<readonly ListedJob[]>): UseHeldRowsReturn {
  const held = shallowRef<ReadonlyMap<JobId, ListedJob> | null>(null)
  const listed = computed(() => byId(rows.value))
  return {
    shown: computed(() =>
      held.value === null
        ? rows.value
        : [...held.value.values()].map((job) => listed.value.get(job.id) ?? job),
    ),
    arrived: computed(() => {
      const { value: known } = held
      return known === null ? 0 : rows.value.filter(({ id }) => !known.has(id)).length
    }),
    hold: () => (held.value ??= listed.value),
    release: () => (held.value = null),
  }
}

function byId(jobs: readonly ListedJob[]): ReadonlyMap<JobId, ListedJob> {
  return new Map(jobs.map((job) => [job.id, job]))
}
