/** The visibility of a page. */
export interface PageVisibility {
  readonly isHidden: () => boolean
  /** Call `listener` when the page is shown or hidden. This is also the last event of a page that is closed. */
  readonly onChange: (listener: () => void) => () => void
}

/** The current page. Without a document, as in server-side rendering, it counts as visible. */
export const PAGE: PageVisibility = {
  isHidden: () => typeof document !== 'undefined' && document.hidden,
  onChange: (listener) => {
    if (typeof document === 'undefined') return () => undefined
    document.addEventListener('visibilitychange', listener)
    return () => document.removeEventListener('visibilitychange', listener)
  },
}
