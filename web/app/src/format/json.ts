import { CONTROL } from './controls'

export interface JsonToken {
  readonly kind: 'key' | 'text' | 'word' | 'plain'
  readonly text: string
}

/** Format a value as JSON in lines; characters that could hide or reorder the text are escaped, as JSON allows. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    CONTROL,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g

/** Split JSON into tokens for syntax highlighting. Joined together, the tokens are the original text. */
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

/** The maximum length of a preview, in characters. It has a few hundred tokens. */
export const PREVIEW_LENGTH = 4000

/** Return the beginning of a text, cut at the end of a line if possible. */
export function previewOf(text: string, maxLength = PREVIEW_LENGTH): string {
  if (text.length <= maxLength) return text
  const end = text.lastIndexOf('\n', maxLength)
  return text.slice(0, end > 0 ? end : maxLength)
}
