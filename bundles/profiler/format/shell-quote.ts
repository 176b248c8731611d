/** A text that a shell takes for one word as it stands; `=` is not in it, as zsh expands a word that begins with it. */
const plain = /^[\w@%+:,./-]+$/

/** Characters that a terminal obeys, or that a reader does not see: a quoted text never contains one as it is. */
const unseen = { utf8: /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, latin1: /[^\x20-\x7e]/ } as const

/**
 * Quotes a text as one word of a command line, by what POSIX has (Shell Command Language, section 2.2): dash, bash and
 * zsh read it alike. A text with unseen characters becomes a call of `printf`, with octal escapes. `latin1` is for texts
 * whose characters are bytes, such as values of headers. No argument of a command can contain a NUL: it is lost.
 */
export function quoteForShell(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (plain.test(text)) return text
  if (!unseen[encoding].test(text)) return `'${text.replaceAll("'", "'\\''")}'`

  // A command substitution drops the line feeds at its end, so these follow it.
  let end = text.length
  while (text[end - 1] === '\n') end--
  const escaped = Array.from(text.slice(0, end), character => escapeCharacter(character, encoding)).join('')
  return `"$(printf %b '${escaped}')${text.slice(end)}"`
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** An interactive shell expands `!` within double quotes, whatever stands around it. */
function escapeCharacter(character: string, encoding: 'utf8' | 'latin1'): string {
  const isWritten = !unseen[encoding].test(character) && !/['!\\]/.test(character)
  if (isWritten) return character
  return escapes.get(character) ?? Array.from(Buffer.from(character, encoding), toOctal).join('')
}

/** As `%b` of printf reads a byte. */
function toOctal(byte: number): string {
  return `\\0${byte.toString(8).padStart(3, '0')}`
}
