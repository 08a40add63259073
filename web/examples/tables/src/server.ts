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

export type Row = readonly (string | number)[]

export const whoIsSignedIn = (): Promise<{ name: string } | null> => ask('GET', '/api/session')
export const signIn = (name: string): Promise<unknown> => ask('POST', '/api/session', { name })
export const signOut = (): Promise<unknown> => ask('DELETE', '/api/session')
export const listTables = (): Promise<Table[]> => ask('GET', '/api/tables')
export const firstRows = (id: number): Promise<Row[]> => ask('GET', `/api/tables/${id}/rows`)
export const listExports = (): Promise<Export[]> => ask('GET', '/api/exports')

/** Upload a file and start its import. The response contains the id of the job. */
export const startImport = (file: File): Promise<{ job_id: number }> =>
  ask('POST', `/api/imports?name=${encodeURIComponent(file.name)}`, file)

async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const isFile = body instanceof File
  const response = await fetch(path, {
    method,
    headers: { 'Content-Type': isFile ? 'text/csv' : 'application/json' },
    body: isFile ? body : JSON.stringify(body),
  })
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw new Error(detailOf(answer))
  return answer as Answer
}

function detailOf(answer: unknown): string {
  const detail = (answer as { detail?: unknown } | null)?.detail
  return typeof detail === 'string' ? detail : 'The request failed. Please try again.'
}
