import { onScopeDispose } from 'vue'

/**
 * Keep the focus where the user has pressed something: it is lost if that moves with its row, and goes to `content` if it
 * goes away, as the button of a problem that is solved. It is watched until the user goes on, with a key or a pointer.
 */
export function useKeptFocus(content: () => HTMLElement | null): void {
  let focused: HTMLElement | null = null
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body) return
    const kept = focused?.isConnected ? focused : content()
    kept?.focus({ preventScroll: true })
  })
  const listening = new AbortController()

  function follow(): void {
    focused = document.activeElement instanceof HTMLElement ? document.activeElement : null
  }
  function watch(): void {
    follow()
    observer.observe(document.body, { childList: true, subtree: true })
  }
  function stop(): void {
    observer.disconnect()
  }

  const options = { capture: true, signal: listening.signal }
  addEventListener('click', watch, options)
  addEventListener('focusin', follow, options) // a dialog returns the focus to what opened it
  addEventListener('keydown', stop, options)
  addEventListener('pointerdown', stop, options)
  onScopeDispose(() => {
    listening.abort()
    stop()
  })
}
