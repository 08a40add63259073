export interface JsonToken {
  readonly kind: 'key' | 'text' | 'word' | 'plain'
  readonly text: string
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g

/** Split JSON into pieces to colour; put together they are the text again. */
export function jsonTokens(text: string): JsonToken[] {
  const tokens: JsonToken[] = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) tokens.push({ kind: 'plain', text: text.slice(end, match.index) })
    const [whole, quoted, colon] = match
    const kind = quoted === undefined ? 'word' : colon === undefined ? 'text' : 'key'
    tokens.push({ kind, text: whole })
    end = match.index + whole.length
  }
  if (end < text.length) tokens.push({ kind: 'plain', text: text.slice(end) })
  return tokens
}

/** Characters of a text that are shown before somebody asks for more: some hundred pieces. */
export const SHOWN_AT_FIRST = 4000

/** The beginning of a text, cut where a line ends. */
export function beginningOf(text: string, most = SHOWN_AT_FIRST): string {
  if (text.length <= most) return text
  const end = text.lastIndexOf('\n', most)
  return text.slice(0, end > 0 ? end : most)
}
