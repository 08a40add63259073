import { createClient, type HoraeClient } from '@horae/vue'
import { shallowRef } from 'vue'

import type {
  AuditPage,
  ErrorList,
  ErrorQuery,
  Everything,
  Group,
  HistorySeries,
  JobWhy,
  KeyLimit,
  LimitNumbers,
  Me,
  NodeList,
  Overview,
  Queue,
  QueueHistory,
  TypeHistory,
} from './model'
import { publicTypesOf } from './publicTypes'
import type { NewGroup } from '@/jobs/newGroup'
import { pressEnded } from '@/refresh/press'

/** Return the path at which the application is mounted, with a trailing slash. The server sends it as `<base>`. */
export function mountPath(page: Document = document): string {
  const base = page.querySelector('base')?.href
  return base ? new URL(base).pathname : '/'
}

/** Whether the server requires authentication. The page then shows the login form. */
export const isAnonymous = shallowRef(false)

export const client: HoraeClient = createClient({
  baseUrl: mountPath().replace(/\/$/, ''),
  headers: () => ({ 'X-Horae-Channel': 'dashboard' }), // the journal tells it from other programs
  onUnauthorized: () => (isAnonymous.value = true),
  fetch: async (address, init) => {
    const response = await fetch(address, init)
    await pressEnded()
    return response
  },
})

const { json } = client.transport

/** The requests of the dashboard except those about jobs and schedules. */
export const server = {
  me: (signal?: AbortSignal) => json<Me>('GET', '/api/session/', { signal }),
  logIn: (token: string) => json<Me>('POST', '/api/session/', { body: { token } }),
  logOut: () => json<undefined>('DELETE', '/api/session/'),
  overview: (signal?: AbortSignal) => json<Overview>('GET', '/api/overview/', { signal }),
  nodes: (signal?: AbortSignal) => json<NodeList>('GET', '/api/nodes/', { signal }),
  queues: async (signal?: AbortSignal) =>
    (await json<{ queues: Queue[] }>('GET', '/api/queues/', { signal })).queues,
  pauseQueue: (name: string, note: string | null) =>
    json<Queue>('POST', `/api/queues/${encodeURIComponent(name)}/pause/`, { body: { note } }),
  resumeQueue: (name: string) =>
    json<Queue>('POST', `/api/queues/${encodeURIComponent(name)}/resume/`),
  everything: (signal?: AbortSignal) => json<Everything>('GET', '/api/everything/', { signal }),
  pauseEverything: (note: string | null) =>
    json<Everything>('POST', '/api/everything/pause/', { body: { note } }),
  resumeEverything: () => json<Everything>('POST', '/api/everything/resume/'),
  limitQueue: (name: string, limit: number | null) =>
    json<Queue>('POST', `/api/queues/${encodeURIComponent(name)}/limit/`, {
      body: { concurrency_limit: limit },
    }),
  resetQueue: (name: string) =>
    json<Queue>('POST', `/api/queues/${encodeURIComponent(name)}/reset/`),
  makeQueueFair: (name: string, by: string | null) =>
    json<Queue>('POST', `/api/queues/${encodeURIComponent(name)}/fair/`, { body: { by } }),
  limits: async (signal?: AbortSignal) =>
    (await json<{ limits: KeyLimit[] }>('GET', '/api/limits/', { signal })).limits,
  setLimit: (name: string, numbers: LimitNumbers) =>
    json<KeyLimit>('POST', `/api/limits/${encodeURIComponent(name)}/set/`, { body: numbers }),
  resetLimit: (name: string) =>
    json<KeyLimit>('POST', `/api/limits/${encodeURIComponent(name)}/reset/`),
  group: (id: number, signal?: AbortSignal) => json<Group>('GET', `/api/groups/${id}/`, { signal }),
  startGroup: (group: NewGroup) => json<Group>('POST', '/api/groups/', { body: group }),
  cancelGroup: (id: number) => json<Group>('POST', `/api/groups/${id}/cancel/`),
  why: (id: number, signal?: AbortSignal) =>
    json<JobWhy>('GET', `/api/jobs/${id}/why/`, { signal }),
  /** The job types that may be started over HTTP, as the API describes itself. */
  publicTypes: async () =>
    publicTypesOf(await json<{ paths: Record<string, unknown> }>('GET', '/api/openapi.json')),
  errors: (asked: ErrorQuery, signal?: AbortSignal) =>
    json<ErrorList>('GET', '/api/errors/', { query: { ...asked }, signal }),
  history: (
    query: { scope: string; name: string | null; span: string; points?: number },
    signal?: AbortSignal,
  ) => json<HistorySeries>('GET', '/api/history/', { query, signal }),
  queueHistory: (span: string, signal?: AbortSignal) =>
    json<QueueHistory>('GET', '/api/history/queues/', { query: { span }, signal }),
  typeHistory: (span: string, deployment: string | null, signal?: AbortSignal) =>
    json<TypeHistory>('GET', '/api/history/types/', { query: { span, deployment }, signal }),
  audit: (filters: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    json<AuditPage>('GET', '/api/audit/', { query: { ...filters, limit: 100 }, signal }),
} as const
