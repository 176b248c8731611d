/** Escapes a text for a regular expression, with or without the flag `u`. RegExp.escape() needs Node.js 24. */
export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
