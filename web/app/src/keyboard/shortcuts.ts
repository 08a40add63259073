import { onScopeDispose } from 'vue'

/** A key, or two one after the other such as `g j`, and what it does. */
export interface Shortcut {
  readonly keys: string
  readonly does: string
  readonly run: () => void
}

/** Milliseconds within which the second key of two must come. */
const PATIENCE = 1200

const active: Shortcut[][] = []
let prefix = ''
let pressed = 0

/** The shortcuts that work now, those of the innermost view first. */
export function activeShortcuts(): Shortcut[] {
  return [...active].reverse().flat()
}

/** Let these keys work while the scope lives. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const own = [...shortcuts]
  active.push(own)
  onScopeDispose(() => active.splice(active.indexOf(own), 1))
}

/** Run what a key stands for; true if it stood for something. */
export function press(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) {
    return false
  }
  const pending = event.timeStamp - pressed < PATIENCE ? prefix : ''
  const shortcuts = activeShortcuts()
  const found =
    shortcuts.find(({ keys }) => pending !== '' && keys === `${pending} ${event.key}`) ??
    shortcuts.find(({ keys }) => keys === event.key)
  prefix = found ? '' : event.key
  pressed = event.timeStamp
  found?.run()
  return found !== undefined
}

/** Keys that go into a field, or belong to a dialog, are no shortcuts. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  if (!(target instanceof HTMLElement)) return false
  const ownKeys = target.closest('input, textarea, select, [contenteditable], dialog')
  // Enter and the space bar press what has the focus.
  const presses =
    ['Enter', ' '].includes(event.key) && target.closest('a, button, summary') !== null
  return (ownKeys !== null && !isCheckbox(ownKeys)) || presses
}

function isCheckbox(element: Element): boolean {
  return element instanceof HTMLInputElement && element.type === 'checkbox'
}
