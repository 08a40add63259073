import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'

import { activeShortcuts, handleKey, useShortcuts } from '@/keyboard/shortcuts'

let scope: EffectScope
const runs = { go: vi.fn(), next: vi.fn(), help: vi.fn() }

beforeEach(() => {
  scope = effectScope(true)
  scope.run(() =>
    useShortcuts([
      { keys: 'g j', description: 'Go to jobs', run: runs.go },
      { keys: 'j', description: 'Next', run: runs.next },
      { keys: '?', description: 'Help', run: runs.help },
    ]),
  )
})

afterEach(() => {
  scope.stop()
  vi.clearAllMocks()
  document.body.replaceChildren()
})

/** Press a key on the focused element. Returns whether it is a shortcut. */
function key(name: string, more: KeyboardEventInit & { at?: number; on?: string } = {}): boolean {
  const { at = 0, on = '<main></main>', ...init } = more
  document.body.innerHTML = on
  const target = document.body.querySelector('[data-focus]') ?? document.body
  let found = false
  const event = new KeyboardEvent('keydown', { key: name, bubbles: true, composed: true, ...init })
  Object.defineProperty(event, 'timeStamp', { value: at })
  const listen = (pressed: KeyboardEvent): void => void (found = handleKey(pressed))
  document.addEventListener('keydown', listen, { once: true })
  target.dispatchEvent(event)
  return found
}

describe('shortcuts', () => {
  it('are one key, or a sequence of two', () => {
    expect(key('?')).toBe(true)
    key('g', { at: 100 })
    key('j', { at: 500 })
    expect(runs.help).toHaveBeenCalledOnce()
    expect(runs.go).toHaveBeenCalledOnce()
    expect(runs.next).not.toHaveBeenCalled()
  })

  it('of two keys time out', () => {
    key('g', { at: 100 })
    key('j', { at: 5000 })
    expect(runs.go).not.toHaveBeenCalled()
    expect(runs.next).toHaveBeenCalledOnce()
  })

  it.each([{ ctrlKey: true }, { metaKey: true }, { altKey: true }])(
    'ignore keys with %o',
    (modifier) => {
      expect(key('j', modifier)).toBe(false)
    },
  )

  it.each([
    '<input data-focus>',
    '<textarea data-focus></textarea>',
    '<dialog><p data-focus></p></dialog>',
  ])('ignore keys in %s', (on) => {
    expect(key('j', { on })).toBe(false)
  })

  it('work on a checkbox, which has no text input', () => {
    expect(key('j', { on: '<input type="checkbox" data-focus>' })).toBe(true)
  })

  it('ignore Enter on a focused link', () => {
    scope.run(() => useShortcuts([{ keys: 'Enter', description: 'Open', run: runs.go }]))
    expect(key('Enter', { on: '<a href="#" data-focus>x</a>' })).toBe(false)
    expect(key('Enter')).toBe(true)
  })

  it('are listed with the innermost first, and end with their view', () => {
    const inner = effectScope(true)
    inner.run(() => useShortcuts([{ keys: 'x', description: 'Select', run: runs.go }]))
    expect(activeShortcuts().map(({ keys }) => keys)).toEqual(['x', 'g j', 'j', '?'])
    inner.stop()
    expect(key('x')).toBe(false)
  })
})
