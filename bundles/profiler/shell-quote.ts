/** What a shell of the Bourne family takes for one word as it stands. */
const plain = /^[\w@%+=:,./-]+$/

/**
 * Quotes a text as one word of a command line. Control characters are written as escapes, which bash and zsh know:
 * pasted as they are, a terminal would obey them.
 */
export function quoteForShell(text: string): string {
  if (plain.test(text)) return text
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", "'\\''")}'`
  return `$'${text.replace(/[\\'\p{Cc}]/gu, toEscape)}'`
}

function toEscape(character: string): string {
  const code = Number(character.codePointAt(0))
  return code < 32 || code > 126 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\${character}`
}
