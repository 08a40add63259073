import type { JobDetail, JobId } from './model'

/**
 * The job types of an application, by name. It declares them once, from the types that `openapi-typescript` generates from
 * its OpenAPI document; without them every name and every object of parameters is accepted.
 *
 * ```ts
 * import type { JobTypesOf } from '@horae/client'
 * import type { paths } from './horae-schema'
 *
 * declare module '@horae/client' {
 *   interface JobTypes extends JobTypesOf<paths> {}
 * }
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- applications add their types to it
export interface JobTypes {}

/** One job type: the parameters of a start, and the job that the server returns. */
export interface JobTypeShape {
  readonly parameters: object
  readonly job: object
}

/** What the types of `openapi-typescript` say about the endpoint that starts jobs of one type. */
interface StartEndpoint {
  readonly post: {
    readonly requestBody?: { readonly content: { readonly 'application/json': unknown } }
    readonly responses: {
      readonly 202: { readonly content: { readonly 'application/json': unknown } }
    }
  }
}

/** The public job types of the `paths` of an OpenAPI document. */
export type JobTypesOf<Paths> = {
  [Path in keyof Paths as Path extends `/api/jobs/types/${infer Type}/` ? Type : never]: {
    readonly parameters: ParametersOf<Paths[Path]>
    readonly job: AnswerOf<Paths[Path]>
  }
}

type ParametersOf<Endpoint> = Endpoint extends {
  readonly post: {
    readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } }
  }
}
  ? Body
  : never

type AnswerOf<Endpoint> = Endpoint extends StartEndpoint
  ? Endpoint['post']['responses'][202]['content']['application/json']
  : never

/** The names of the declared types; every name while none is declared. */
export type NameOf<Types> = [keyof Types] extends [never] ? string : keyof Types & string

/** A job of a type, with its parameters and its result. */
export type JobOf<Types, Name> = Name extends keyof Types
  ? JobDetail & (Types[Name] extends JobTypeShape ? Readonly<Types[Name]['job']> : unknown)
  : JobDetail

/** The arguments after the name of a type: its parameters, which may be omitted if none is required. */
export type StartArguments<Types, Name> = Name extends keyof Types
  ? Types[Name] extends JobTypeShape
    ? Partial<Types[Name]['parameters']> extends Types[Name]['parameters']
      ? [parameters?: Readonly<Types[Name]['parameters']>]
      : [parameters: Readonly<Types[Name]['parameters']>]
    : [parameters?: Readonly<Record<string, unknown>>]
  : [parameters?: Readonly<Record<string, unknown>>]

export type CreateJob<Types> = <Name extends NameOf<Types>>(
  type: Name,
  ...parameters: StartArguments<Types, Name>
) => Promise<JobOf<Types, Name>>

/** Reads a job. The caller says of which type it is: `get<'export_table'>(id)`. */
export type GetJob<Types> = <Name extends NameOf<Types> = NameOf<Types>>(
  id: JobId,
  signal?: AbortSignal,
) => Promise<JobOf<Types, Name>>
