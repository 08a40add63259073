// Control characters but line breaks and tabs, marks that change the direction of writing, and line separators.
export const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]|\p{Bidi_Control}/gu

/** Write control characters as escapes (`\u202e`), so that a text can neither hide nor reorder what it shows. */
export function escapedControls(text: string): string {
  return text.replace(CONTROL, (found) => {
    const code = found.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })
}
