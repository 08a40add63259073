import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'

import { activeShortcuts, press, useShortcuts } from '@/keyboard/shortcuts'

let scope: EffectScope
const runs = { go: vi.fn(), next: vi.fn(), help: vi.fn() }

beforeEach(() => {
  scope = effectScope(true)
  scope.run(() =>
    useShortcuts([
      { keys: 'g j', does: 'Go to jobs', run: runs.go },
      { keys: 'j', does: 'Next', run: runs.next },
      { keys: '?', does: 'Help', run: runs.help },
    ]),
  )
})

afterEach(() => {
  scope.stop()
  vi.clearAllMocks()
  document.body.replaceChildren()
})

/** Press a key where the focus is; true if it stood for something. */
function key(name: string, more: KeyboardEventInit & { at?: number; on?: string } = {}): boolean {
  const { at = 0, on = '<main></main>', ...init } = more
  document.body.innerHTML = on
  const target = document.body.querySelector('[data-focus]') ?? document.body
  let found = false
  const event = new KeyboardEvent('keydown', { key: name, bubbles: true, composed: true, ...init })
  Object.defineProperty(event, 'timeStamp', { value: at })
  const listen = (pressed: KeyboardEvent): void => void (found = press(pressed))
  document.addEventListener('keydown', listen, { once: true })
  target.dispatchEvent(event)
  return found
}

describe('shortcuts', () => {
  it('are one key, or two in a row', () => {
    expect(key('?')).toBe(true)
    key('g', { at: 100 })
    key('j', { at: 500 })
    expect(runs.help).toHaveBeenCalledOnce()
    expect(runs.go).toHaveBeenCalledOnce()
    expect(runs.next).not.toHaveBeenCalled()
  })

  it('of two keys must not take too long', () => {
    key('g', { at: 100 })
    key('j', { at: 5000 })
    expect(runs.go).not.toHaveBeenCalled()
    expect(runs.next).toHaveBeenCalledOnce()
  })

  it.each([{ ctrlKey: true }, { metaKey: true }, { altKey: true }])(
    'leave %o to the browser',
    (modifier) => {
      expect(key('j', modifier)).toBe(false)
    },
  )

  it.each([
    '<input data-focus>',
    '<textarea data-focus></textarea>',
    '<dialog><p data-focus></p></dialog>',
  ])('leave keys to %s', (on) => {
    expect(key('j', { on })).toBe(false)
  })

  it('work on a checkbox, which takes no letters', () => {
    expect(key('j', { on: '<input type="checkbox" data-focus>' })).toBe(true)
  })

  it('leave Enter to a link that has the focus', () => {
    scope.run(() => useShortcuts([{ keys: 'Enter', does: 'Open', run: runs.go }]))
    expect(key('Enter', { on: '<a href="#" data-focus>x</a>' })).toBe(false)
    expect(key('Enter')).toBe(true)
  })

  it('are listed, the innermost first, and end with their view', () => {
    const inner = effectScope(true)
    inner.run(() => useShortcuts([{ keys: 'x', does: 'Select', run: runs.go }]))
    expect(activeShortcuts().map(({ keys }) => keys)).toEqual(['x', 'g j', 'j', '?'])
    inner.stop()
    expect(key('x')).toBe(false)
  })
})
