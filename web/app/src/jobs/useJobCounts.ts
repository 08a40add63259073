import type { JobState } from '@horae/vue'
import { computed, shallowRef, type ComputedRef } from 'vue'

import type { StateCount } from '@/api/model'
import { client } from '@/api/server'
import { countText } from '@/format/number'
import { useResource } from '@/refresh/useResource'
import { TIME_ZONE } from './filters'
import { withoutFields } from './query/terms'

/** Seconds between two counts: they read more than a page of jobs does. */
const INTERVAL = shallowRef(10)

/** How many jobs are in each state, as texts for the chips: `12`, or `10,000+` if there are more. */
export function useJobCounts(
  query: () => string,
): ComputedRef<Readonly<Partial<Record<JobState, string>>>> {
  const counted = computed(() => withoutFields(query(), ['state']))
  const counts = useResource(
    (signal) =>
      client.transport.json<{ counts: StateCount[] }>('GET', '/api/jobs/counts/', {
        query: counted.value === '' ? {} : { query: counted.value, timezone: TIME_ZONE },
        signal,
      }),
    { key: counted, keepData: true, seconds: INTERVAL },
  )
  return computed(() =>
    Object.fromEntries(
      (counts.data.value?.counts ?? []).map(({ state, count, complete }) => [
        state,
        complete ? countText(count) : `${countText(count)}+`,
      ]),
    ),
  )
}
