/** The name and the colour that tell this installation from others, such as staging from production. */
export interface Installation {
  readonly name: string
  readonly colour: string
  /** Black or white, whichever can be read on the colour. */
  readonly textColour: string
}

const COLOUR = /^#[0-9a-f]{6}$/

/** Read what `horae run --colour` has put into the page; null without it. */
export function installation(page: Document = document): Installation | null {
  const element = page.querySelector<HTMLMetaElement>('meta[name="horae-band"]')
  if (!element) return null
  const { colour = '', text = '' } = element.dataset
  if (!COLOUR.test(colour) || !COLOUR.test(text)) return null
  return { name: element.content, colour, textColour: text }
}
