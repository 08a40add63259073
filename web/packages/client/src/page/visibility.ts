/** The visibility of a page. */
export interface PageVisibility {
  readonly isHidden: () => boolean
  /** Call `listener` when the page is shown or hidden. This is also the last event of a page that is closed. */
  readonly onChange: (listener: () => void) => () => void
}

/** Whether there is a page at all. At server-side rendering there is none, so nothing is requested or followed. */
export const HAS_PAGE: boolean = typeof document !== 'undefined'

/** The current page. Without a document, as in server-side rendering, it counts as visible. */
export const PAGE: PageVisibility = {
  isHidden: () => HAS_PAGE && document.hidden,
  onChange: (listener) => {
    if (!HAS_PAGE) return () => undefined
    document.addEventListener('visibilitychange', listener)
    return () => document.removeEventListener('visibilitychange', listener)
  },
}
