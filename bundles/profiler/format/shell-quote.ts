/** What a shell of the Bourne family takes for one word as it stands. */
const plain = /^[\w@%+=:,./-]+$/

/** What is more than the end of a line, or a tab. */
const control = /[^\P{Cc}\n\t]/u

/**
 * Quotes a text as one word of a command line. Control characters but line feeds and tabs are written
 * as escapes, which bash and zsh know: pasted as they are, a terminal would obey them.
 */
export function quoteForShell(text: string): string {
  if (plain.test(text)) return text
  if (!control.test(text)) return `'${text.replaceAll("'", "'\\''")}'`
  return `$'${text.replace(/[\\'\p{Cc}]/gu, toEscape)}'`
}

function toEscape(character: string): string {
  const code = Number(character.codePointAt(0))
  return code < 32 || code > 126 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\${character}`
}
