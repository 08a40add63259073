import { computed, type ComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

import { filtersOf, routeQueryOf, type JobFilters } from './filters'

export interface UseJobFiltersReturn {
  readonly filters: ComputedRef<JobFilters>
  /** Change some filters. Unless the change is a cursor, the list returns to its first page. */
  readonly change: (changed: Partial<JobFilters>) => void
}

/** Read and change the filters in the address of the page, which is the only place where they are stored. */
export function useJobFilters(): UseJobFiltersReturn {
  const route = useRoute()
  const router = useRouter()
  const filters = computed(() => filtersOf(route.query))
  return {
    filters,
    change: (changed) => {
      const query = routeQueryOf({ ...filters.value, cursor: null, ...changed })
      // The back button returns to the previous page of the list. Changes of a filter do not add to the history.
      void ('cursor' in changed ? router.push({ query }) : router.replace({ query }))
    },
  }
}
