import { shownError, messagesFor } from '@horae/vue'
import { readonly, shallowRef } from 'vue'

export interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

const SHOWN_FOR = { done: 4000, failed: 12_000 }

const notices = shallowRef<readonly Notice[]>([])
let last = 0

export const shownNotices = readonly(notices)

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/** Say for some seconds what has come of something. */
export function notify(kind: Notice['kind'], text: string): void {
  const id = ++last
  notices.value = [...notices.value, { id, kind, text }]
  setTimeout(() => dismiss(id), SHOWN_FOR[kind])
}

/** Do something for the user and say what came of it; true if it was done. */
export async function perform(action: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await action()
    notify('done', done)
    return true
  } catch (error) {
    notify('failed', errorText(error))
    return false
  }
}

export function errorText(error: unknown): string {
  const { error: title, message } = shownError(error, messagesFor('en'))
  return `${title}: ${message}`
}
