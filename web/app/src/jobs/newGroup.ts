import { jsonTokens } from '@/format/json'
import { texts } from '@/texts/texts'

/** The input of a job of a new group: its type, and its parameters as JSON. */
export interface JobInput {
  readonly key: number
  type: string
  params: string
}

/** A job of a new group. */
export interface NewMember {
  readonly type: string
  readonly params: Record<string, unknown>
}

/** The jobs of a new group, and the one that runs after all of them. */
export interface NewGroup {
  readonly members: readonly NewMember[]
  readonly then: NewMember | null
  readonly on_failure: 'continue' | 'cancel'
}

/** Return what is wrong with the parameters of a job, an empty text if nothing is. An empty input is `{}`. */
export function paramsProblem(input: string): string {
  const text = input.trim()
  if (text === '') return ''
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return texts.value.groups.invalidJson
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return texts.value.groups.notAnObject
  }
  const changed = jsonTokens(text).find((token) => token.kind === 'word' && isRounded(token.text))
  if (changed === undefined) return ''
  return texts.value.groups.rounded(changed.text)
}

/** Whether JavaScript cannot represent this integer, and would send another one. */
function isRounded(number: string): boolean {
  return /^-?\d+$/.test(number) && BigInt(number) !== BigInt(Number(number))
}

/** Convert the inputs to a group. Returns undefined while any of them is missing or invalid. */
export function newGroupOf(
  members: readonly JobInput[],
  then: JobInput | null,
  onFailure: NewGroup['on_failure'],
): NewGroup | undefined {
  const inputs = then === null ? members : [...members, then]
  const isValid = inputs.every(
    ({ type, params }) => type.trim() !== '' && paramsProblem(params) === '',
  )
  if (members.length === 0 || !isValid) return undefined
  return {
    members: members.map(memberOf),
    then: then === null ? null : memberOf(then),
    on_failure: onFailure,
  }
}

function memberOf({ type, params }: JobInput): NewMember {
  const value = params.trim() === '' ? {} : (JSON.parse(params) as Record<string, unknown>)
  return { type: type.trim(), params: value }
}
