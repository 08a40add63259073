import { HoraeError, shownError, messagesFor } from '@horae/vue'
import { readonly, shallowRef } from 'vue'

import { language } from '@/texts/locale'
import { fieldsText, refusalText } from '@/texts/sentences'

export interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

/** How long notices are shown, in milliseconds. */
const SHOWN_FOR = { done: 4000, failed: 12_000 }

const notices = shallowRef<readonly Notice[]>([])
let last = 0

export const shownNotices = readonly(notices)

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/** Show the result of an action for some seconds. */
export function notify(kind: Notice['kind'], text: string): void {
  const id = ++last
  notices.value = [...notices.value, { id, kind, text }]
  setTimeout(() => dismiss(id), SHOWN_FOR[kind])
}

/** Run an action of the user and show its result. Returns whether it succeeded. */
export async function perform<T>(
  action: () => Promise<T>,
  message: string | ((result: T) => string),
): Promise<boolean> {
  try {
    const result = await action()
    notify('done', typeof message === 'string' ? message : message(result))
    return true
  } catch (error) {
    notify('failed', errorText(error))
    return false
  }
}

/** Describe an error for the user, in English where the server sends no code for what it says. */
export function errorText(error: unknown): string {
  return `${shownError(error, messagesFor(language.value)).error}: ${reasonText(error)}`
}

/** Describe an error as `errorText` does, for a place that has a title of its own. */
export function reasonText(error: unknown): string {
  const refusal =
    error instanceof HoraeError ? (refusalText(error.sentence) ?? fieldsText(error.detail)) : null
  return refusal ?? shownError(error, messagesFor(language.value)).message
}
