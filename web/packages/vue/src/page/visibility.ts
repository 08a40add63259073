/** Whether somebody may see the page. */
export interface PageVisibility {
  readonly isHidden: () => boolean
  /** Call back when the page is shown or hidden, which is also the last that a closed page hears. */
  readonly onChange: (call: () => void) => () => void
}

/** The present page; where there is none, as on a server, somebody may see it. */
export const PAGE: PageVisibility = {
  isHidden: () => typeof document !== 'undefined' && document.hidden,
  onChange: (call) => {
    if (typeof document === 'undefined') return () => undefined
    document.addEventListener('visibilitychange', call)
    return () => document.removeEventListener('visibilitychange', call)
  },
}
