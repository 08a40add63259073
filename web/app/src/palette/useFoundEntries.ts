import { HoraeError, humanReadableState, useHorae, type Messages } from '@horae/vue'
import { shallowRef, watch, type Ref } from 'vue'

import { schedules } from '@/api/schedules'
import { client } from '@/api/server'
import { useSession } from '@/session/session'
import { errorText } from '@/notices/notices'
import { texts } from '@/texts/texts'
import { jobIdOf, SHOWN_OF_KIND, type Entry } from './entries'

/** The delay between the last key and the search, in milliseconds. */
const DELAY = 150

export interface FoundEntries {
  readonly found: Readonly<Ref<readonly Entry[]>>
  readonly searching: Readonly<Ref<boolean>>
  /** Why the search failed; empty if it did not. */
  readonly failure: Readonly<Ref<string>>
}

/** Search the server for the job with an id, and for schedules whose name contains the query. */
export function useFoundEntries(query: Readonly<Ref<string>>): FoundEntries {
  const session = useSession()
  const { messages } = useHorae()
  const found = shallowRef<readonly Entry[]>([])
  const searching = shallowRef(false)
  const failure = shallowRef('')

  async function search(text: string, signal: AbortSignal): Promise<void> {
    failure.value = ''
    try {
      const results = await Promise.all([
        findJob(text, messages.value, signal),
        session.seesAll ? findSchedules(text, signal) : [],
      ])
      if (!signal.aborted) found.value = results.flat()
    } catch (error) {
      if (!signal.aborted) failure.value = errorText(error)
    } finally {
      if (!signal.aborted) searching.value = false
    }
  }

  // The reader may have typed before this code had arrived.
  watch(
    query,
    (text, _previous, onCleanup) => {
      const request = new AbortController()
      onCleanup(() => request.abort())
      // What was found for the previous query must not be chosen by mistake.
      found.value = []
      searching.value = text.trim() !== ''
      if (!searching.value) return
      const timer = setTimeout(() => void search(text.trim(), request.signal), DELAY)
      onCleanup(() => clearTimeout(timer))
    },
    { immediate: true },
  )

  return { found, searching, failure }
}

async function findJob(text: string, messages: Messages, signal: AbortSignal): Promise<Entry[]> {
  const id = jobIdOf(text)
  if (id === null) return []
  try {
    const job = await client.jobs.get(id, signal)
    return [
      {
        id: String(id),
        kind: 'job',
        icon: 'jobs',
        title: texts.value.palette.job(id),
        details: `${job.type} · ${humanReadableState(job, messages)}`,
        target: { name: 'job', params: { id } },
      },
    ]
  } catch (error) {
    if (error instanceof HoraeError && error.status === 404) return []
    throw error
  }
}

async function findSchedules(text: string, signal: AbortSignal): Promise<Entry[]> {
  const query = { name: text, enabled: null, cursor: null, limit: SHOWN_OF_KIND }
  const page = await schedules.list(query, signal)
  return page.schedules.map(({ id, name, trigger }): Entry => ({
    id: String(id),
    kind: 'schedule',
    icon: 'schedules',
    title: name,
    details: trigger.text,
    target: { name: 'schedule', params: { id } },
  }))
}
