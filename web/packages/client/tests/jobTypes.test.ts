import { expectTypeOf, it } from 'vitest'

import type { JobDetail } from '../src'
import type { CreateJob, GetJob, JobTypesOf } from '../src/api/jobTypes'

/** As `openapi-typescript` generates it. */
interface Paths {
  '/api/jobs/': { get: unknown }
  '/api/jobs/types/export_table/': {
    post: {
      requestBody: {
        content: { 'application/json': { table_id: number; format?: 'csv' | 'json' } }
      }
      responses: {
        202: { content: { 'application/json': { type: string; result?: number | null } } }
      }
    }
  }
  '/api/jobs/types/ping/': {
    post: {
      requestBody?: { content: { 'application/json': { loud?: boolean } } }
      responses: { 202: { content: { 'application/json': { result?: string | null } } } }
    }
  }
}

type Types = JobTypesOf<Paths>
declare const create: CreateJob<Types>
declare const createAny: CreateJob<object>
declare const get: GetJob<Types>

it('names, parameters and results of declared types are checked', () => {
  expectTypeOf<keyof Types>().toEqualTypeOf<'export_table' | 'ping'>()
  const started = (): unknown => [
    create('export_table', { table_id: 1, format: 'csv' }),
    create('ping'),
    create('ping', { loud: true }),
    // @ts-expect-error -- a parameter is missing
    create('export_table'),
    // @ts-expect-error -- a parameter has another type
    create('export_table', { table_id: '1' }),
    // @ts-expect-error -- there is no such type
    create('import_table', {}),
  ]
  expectTypeOf(started).toBeFunction()
  const exported = async (): Promise<number | null | undefined> =>
    (await get<'export_table'>(1)).result
  expectTypeOf(exported).toBeFunction()
})

it('without declared types every name and every object is accepted', () => {
  const started = (): Promise<JobDetail> => createAny('anything', { whatever: [1] })
  expectTypeOf(started).toBeFunction()
})
