/**
 * Writes characters that could forge lines, move a terminal's cursor or reverse text (controls, line separators, bidi
 * controls) as JSON escapes, such as `\n` and `\u001b`.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, character => {
    const escaped = JSON.stringify(character).slice(1, -1)
    return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped
  })
}
