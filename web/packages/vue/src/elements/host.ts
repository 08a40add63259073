import progressStyle from '@horae/client/style.css?inline'
import { useHost, useShadowRoot } from 'vue'

import elementStyle from './elements.css?inline'

/** The custom element around a component. */
export interface ElementHost {
  /** Dispatch an event that bubbles and leaves the shadow tree. */
  dispatch: (name: string, detail: unknown) => void
  /** Return the language tag that applies to the element. */
  language: () => string
}

/**
 * Return the custom element of the current component, and adopt its styles: a content security policy may forbid
 * `<style>`.
 */
export function useElement(): ElementHost {
  const host = useHost()
  const root = useShadowRoot()
  if (root) root.adoptedStyleSheets = styleSheets()
  return {
    dispatch: (name, detail) =>
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
