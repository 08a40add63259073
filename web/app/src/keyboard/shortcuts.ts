import { onScopeDispose, type MaybeRefOrGetter } from 'vue'

/** One key, or a sequence of two such as `g j`, with the action that it runs. */
export interface Shortcut {
  readonly keys: string
  /** A function if it is a text: the reader can choose another language. */
  readonly description: MaybeRefOrGetter<string>
  readonly run: () => void
}

/** The time for the second key of a sequence, in milliseconds. */
const SEQUENCE_TIMEOUT = 1200

const active: Shortcut[][] = []
let prefix = ''
let lastKeyAt = 0

/** Return the active shortcuts, those of the innermost view first. */
export function activeShortcuts(): Shortcut[] {
  return [...active].reverse().flat()
}

/** Activate shortcuts until the scope ends. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const own = [...shortcuts]
  active.push(own)
  onScopeDispose(() => active.splice(active.indexOf(own), 1))
}

/** Whether a key is for the page: nothing else has handled it, and it is typed into no field. */
export function isForPage(event: KeyboardEvent): boolean {
  const { defaultPrevented, ctrlKey, metaKey, altKey } = event
  return !defaultPrevented && !ctrlKey && !metaKey && !altKey && !isHandledByElement(event)
}

/** Run the shortcut of a key. Returns whether there is one. */
export function handleKey(event: KeyboardEvent): boolean {
  if (!isForPage(event)) return false
  const pending = event.timeStamp - lastKeyAt < SEQUENCE_TIMEOUT ? prefix : ''
  const shortcuts = activeShortcuts()
  const found =
    shortcuts.find(({ keys }) => pending !== '' && keys === `${pending} ${event.key}`) ??
    shortcuts.find(({ keys }) => keys === event.key)
  prefix = found ? '' : event.key
  lastKeyAt = event.timeStamp
  found?.run()
  return found !== undefined
}

/** Whether a key belongs to an input field, a dialog or a focused button, so that it must not run a shortcut. */
function isHandledByElement(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  if (!(target instanceof HTMLElement)) return false
  const field = target.closest('input, textarea, select, [contenteditable], dialog')
  // Enter and the space bar activate the focused element.
  const activates =
    ['Enter', ' '].includes(event.key) && target.closest('a, button, summary') !== null
  return (field !== null && !isCheckbox(field)) || activates
}

function isCheckbox(element: Element): boolean {
  return element instanceof HTMLInputElement && element.type === 'checkbox'
}
