/** The codes of the API that a page may want to tell apart. */
export const ERROR_JOB_NOT_CANCELLABLE = 'ERROR_JOB_NOT_CANCELLABLE'
export const ERROR_JOB_DOES_NOT_EXIST = 'ERROR_JOB_DOES_NOT_EXIST'
export const ERROR_MAX_JOB_COUNT_EXCEEDED = 'ERROR_MAX_JOB_COUNT_EXCEEDED'

/** The server answered, and refused. */
export class HoraeError extends Error {
  override readonly name: string = 'HoraeError'
  /** The HTTP status. */
  readonly status: number
  /** The code of the API, or `ERROR_HTTP_` and the status when something else answered. */
  readonly code: string
  /** A sentence, or for a refused body the faults by field. */
  readonly detail: unknown

  constructor(status: number, code: string, detail: unknown) {
    super(typeof detail === 'string' && detail !== '' ? detail : code)
    this.status = status
    this.code = code
    this.detail = detail
  }
}

/** The server does not know who asks: a token is missing or no longer good. */
export class Unauthorized extends HoraeError {
  override readonly name = 'Unauthorized'
}

/** No answer came: the server is down, the network is, or the time was up. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** Turn an answer that is not a success into the error to throw. */
export async function errorOf(response: Response): Promise<HoraeError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, detail } = isRecord(body) ? body : { error: null, detail: null }
  const code = typeof error === 'string' ? error : `ERROR_HTTP_${response.status}`
  const kind = response.status === 401 ? Unauthorized : HoraeError
  return new kind(response.status, code, detail ?? response.statusText)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
