import { useHost, useShadowRoot } from 'vue'

import progressStyle from '../components/progress-bar.css?inline'
import elementStyle from './elements.css?inline'

/** The custom element around a component. */
export interface ElementHost {
  /** Dispatch an event that bubbles out of the element. */
  tell: (name: string, detail: unknown) => void
  /** The language tag that holds where the element stands. */
  language: () => string
}

/** The element that the present component is; its looks are adopted, since a `<style>` may be forbidden. */
export function useElement(): ElementHost {
  const host = useHost()
  const root = useShadowRoot()
  if (root) root.adoptedStyleSheets = styleSheets()
  return {
    tell: (name, detail) =>
      void host?.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true })),
    language: () => host?.closest<HTMLElement>('[lang]')?.lang ?? 'en',
  }
}

let sheets: CSSStyleSheet[] | undefined

function styleSheets(): CSSStyleSheet[] {
  sheets ??= [progressStyle, elementStyle].map((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  })
  return sheets
}
