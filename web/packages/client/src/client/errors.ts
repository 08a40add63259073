/** Error codes of the API that a page may want to handle differently. */
export const ERROR_JOB_NOT_CANCELLABLE = 'ERROR_JOB_NOT_CANCELLABLE'
export const ERROR_JOB_DOES_NOT_EXIST = 'ERROR_JOB_DOES_NOT_EXIST'
export const ERROR_MAX_JOB_COUNT_EXCEEDED = 'ERROR_MAX_JOB_COUNT_EXCEEDED'

/** The server answered with an error. */
export class HoraeError extends Error {
  override readonly name: string = 'HoraeError'
  /** The HTTP status. */
  readonly status: number
  /** The error code of the API, or `ERROR_HTTP_` and the status if the answer is not from the API. */
  readonly code: string
  /** A sentence, or the errors by field if the request body is invalid. */
  readonly detail: unknown
  /** The message as a code and values, for pages in other languages; null or undefined without one. */
  readonly sentence: unknown

  constructor(status: number, code: string, detail: unknown, sentence?: unknown) {
    super(typeof detail === 'string' && detail !== '' ? detail : code)
    this.status = status
    this.code = code
    this.detail = detail
    this.sentence = sentence
  }
}

/** Authentication is required: the token is missing or no longer valid. */
export class Unauthorized extends HoraeError {
  override readonly name = 'Unauthorized'
}

/** The server did not answer: it is down, the network is down, or the request timed out. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** Convert an error response into the error to throw. */
export async function errorOf(response: Response): Promise<HoraeError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, detail, sentence } = isRecord(body) ? body : NOTHING
  const code = typeof error === 'string' ? error : `ERROR_HTTP_${response.status}`
  const kind = response.status === 401 ? Unauthorized : HoraeError
  return new kind(response.status, code, detail ?? response.statusText, sentence)
}

const NOTHING: Readonly<Record<string, unknown>> = {}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
