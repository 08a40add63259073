/** The endpoints of this application. The endpoints of jobs are called by @horae/vue. */

export interface Table {
  readonly id: number
  readonly name: string
  readonly rows: number
  readonly inhabitants: number | null
  readonly counted_at: string | null
}

export interface Export {
  readonly id: number
  readonly name: string
}

/** A schedule of this application, with its last and its next run. */
export interface Upkeep {
  /** For the operator, whom the dashboard shows its runs; null for others. */
  readonly id: number | null
  readonly name: string
  readonly what: string
  readonly last_finish: string | null
  readonly succeeded: boolean | null
  readonly next_start: string | null
}

/** Where app.py mounts Horae: its API, and its dashboard for whoever is signed in. */
export const BACKGROUND = '/background'
export const DASHBOARD = `${BACKGROUND}/`

export type Row = readonly (string | number)[]

export const whoIsSignedIn = (): Promise<{ name: string } | null> => request('GET', '/api/session')
export const signIn = (name: string): Promise<unknown> => request('POST', '/api/session', { name })
export const signOut = (): Promise<unknown> => request('DELETE', '/api/session')
export const listTables = (): Promise<Table[]> => request('GET', '/api/tables')
export const firstRows = (id: number): Promise<Row[]> => request('GET', `/api/tables/${id}/rows`)
export const listUpkeep = (): Promise<Upkeep[]> => request('GET', '/api/upkeep')
export const listExports = (): Promise<Export[]> => request('GET', '/api/exports')

/** Upload a file and start its import. The response contains the id of the job. */
export const startImport = (file: File): Promise<{ job_id: number }> =>
  request('POST', `/api/imports?name=${encodeURIComponent(file.name)}`, file)

async function request<Body>(method: string, path: string, body?: object): Promise<Body> {
  const isFile = body instanceof File
  const response = await fetch(path, {
    method,
    headers: { 'Content-Type': isFile ? 'text/csv' : 'application/json' },
    body: isFile ? body : JSON.stringify(body),
  })
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw new Error(detailOf(answer))
  return answer as Body
}

function detailOf(answer: unknown): string {
  const detail = (answer as { detail?: unknown } | null)?.detail
  return typeof detail === 'string' ? detail : 'The request failed. Please try again.'
}
