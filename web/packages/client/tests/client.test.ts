import { describe, expect, it, vi } from 'vitest'

import { createClient, HoraeError, Unauthorized, Unreachable } from '../src'
import { queryText } from '../src/client/transport'
import { json, jobOf, errorResponse } from './fakes'

function clientReceiving(response: () => Response): {
  client: ReturnType<typeof createClient>
  fetch: ReturnType<typeof vi.fn<typeof globalThis.fetch>>
} {
  const fetch = vi.fn<typeof globalThis.fetch>(() => Promise.resolve(response()))
  return { client: createClient({ baseUrl: '/horae/', fetch, token: 'secret' }), fetch }
}

describe('the client', () => {
  it('sends the token, and joins lists by commas', async () => {
    const { client, fetch } = clientReceiving(() => json({ jobs: [], next: null }))
    await client.jobs.list({ states: ['pending', '!failed'], types: [], cursor: null, limit: 10 })
    const [url, init] = fetch.mock.calls[0] ?? []
    expect(url).toBe('/horae/api/jobs/?states=pending%2C%21failed&limit=10')
    expect(new Headers(init?.headers).get('Authorization')).toBe('Bearer secret')
  })

  it('sends every change as JSON, which an HTML form of another site cannot', async () => {
    const { client, fetch } = clientReceiving(() => json(jobOf(1, 'cancelled')))
    await client.jobs.cancel(1)
    await client.jobs.create('a b/c', { path: 'x' })
    expect(fetch.mock.calls.map(([url]) => url)).toEqual([
      '/horae/api/jobs/1/cancel/',
      '/horae/api/jobs/types/a%20b%2Fc/',
    ])
    for (const [, init] of fetch.mock.calls) {
      expect(new Headers(init?.headers).get('Content-Type')).toBe('application/json')
    }
    expect(fetch.mock.calls[1]?.[1]?.body).toBe('{"path":"x"}')
  })

  it('converts an error response into an error with its code', async () => {
    const { client } = clientReceiving(() =>
      errorResponse(400, 'ERROR_MAX_JOB_COUNT_EXCEEDED', 'one at a time'),
    )
    const error: unknown = await client.jobs.create('x').catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(HoraeError)
    expect(error).toMatchObject({
      status: 400,
      code: 'ERROR_MAX_JOB_COUNT_EXCEEDED',
      message: 'one at a time',
    })
  })

  it('handles a response that is not from the API', async () => {
    const { client } = clientReceiving(() => new Response('<h1>Bad gateway</h1>', { status: 502 }))
    await expect(client.jobs.get(1)).rejects.toMatchObject({ code: 'ERROR_HTTP_502', status: 502 })
  })

  it('reports that authentication is required', async () => {
    const onUnauthorized = vi.fn()
    const fetch = (): Promise<Response> =>
      Promise.resolve(errorResponse(401, 'ERROR_NOT_AUTHENTICATED'))
    const client = createClient({ fetch, onUnauthorized })
    await expect(client.jobs.get(1)).rejects.toBeInstanceOf(Unauthorized)
    expect(onUnauthorized).toHaveBeenCalledOnce()
  })

  it('reports a successful response without JSON as unreachable', async () => {
    const { client } = clientReceiving(() => new Response('<html>', { status: 200 }))
    await expect(client.jobs.get(1)).rejects.toBeInstanceOf(Unreachable)
  })

  it('returns undefined for an empty response', async () => {
    const { client } = clientReceiving(() => new Response(null, { status: 204 }))
    await expect(client.jobs.delete(1)).resolves.toBeUndefined()
  })

  it('has no stream where the server says that there is none', async () => {
    const { client } = clientReceiving(() => new Response(null, { status: 204 }))
    const options = { headers: {}, signal: new AbortController().signal }
    await expect(client.transport.stream('/api/events/', options)).resolves.toBeNull()
  })

  it('omits missing values from the query string', () => {
    expect(queryText({ a: null, b: undefined, c: '', d: [] })).toBe('')
    expect(queryText({ a: 0, b: false })).toBe('?a=0&b=false')
  })
})
