import { computed, type ComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

import { filtersOf, queryOf, type JobFilters } from './filters'

export interface UseJobFiltersReturn {
  readonly filters: ComputedRef<JobFilters>
  /** Change some; whatever changes but the cursor leads back to the first page. */
  readonly change: (changed: Partial<JobFilters>) => void
}

/** The filters in the address of the page, which is their only home. */
export function useJobFilters(): UseJobFiltersReturn {
  const route = useRoute()
  const router = useRouter()
  const filters = computed(() => filtersOf(route.query))
  return {
    filters,
    change: (changed) => {
      const query = queryOf({ ...filters.value, cursor: null, ...changed })
      // Pages are steps that the back button takes back; typing into a filter is one step only.
      void ('cursor' in changed ? router.push({ query }) : router.replace({ query }))
    },
  }
}
