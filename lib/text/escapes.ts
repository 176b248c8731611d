/**
 * Characters that could forge lines, move a terminal's cursor or reverse text: controls, line
 * separators, bidi controls.
 */
export const controls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Writes {@link controls} as JSON escapes, such as `\n` and `\u001b`. */
export function escapeControls(text: string): string {
  return text.replace(controls, toEscape)
}

/** The same for a text of several lines: line feeds and tabs stay. */
export function escapeLines(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu, toEscape)
}

/** Writes all invisible characters as JSON escapes: a person would not notice an order to a coding agent in them. */
export function escapeInvisible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, toEscape)
}

/** The same for a text of several lines: line feeds and tabs stay. JSON means the same afterwards. */
export function escapeInvisibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, escapeInvisible)
}

/** Writes a value as JSON without invisible characters, with `indent` as in `JSON.stringify`. */
export function toVisibleJson(value: unknown, indent = 0): string {
  return escapeInvisibleLines(JSON.stringify(value, null, indent))
}

/** A character above U+FFFF becomes two escapes. */
function toEscape(character: string): string {
  const escaped = JSON.stringify(character).slice(1, -1)
  if (escaped !== character) return escaped
  const units = character.split('').map(unit => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return units.map(unit => `\\u${unit}`).join('')
}

/** Escapes a text for a regular expression, with or without the flag `u`. RegExp.escape() needs Node.js 24. */
export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/**
 * Quotes a text as one word of a command line (POSIX, Shell Command Language, section 2.2), equally for dash, bash and
 * zsh. A text with invisible characters becomes a call of `printf` with octal escapes. `latin1` is for texts whose
 * characters are bytes, such as values of headers. NUL characters are lost, because an argument cannot contain them.
 */
export function quoteForShell(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (plain.test(text)) return text
  if (!unseen[encoding].test(text)) return `'${text.replaceAll("'", "'\\''")}'`

  // A command substitution removes line feeds at its end, so they follow after it.
  let end = text.length
  while (text[end - 1] === '\n') end--
  const escaped = Array.from(text.slice(0, end), character => escapeCharacter(character, encoding)).join('')
  return `"$(printf %b '${escaped}')${text.slice(end)}"`
}

/**
 * A text that is one shell word without quotes. It contains no `=`, because zsh expands a word that begins with `=`.
 */
const plain = /^[\w@%+:,./-]+$/

/** Control characters and invisible characters: they are always escaped. */
const unseen = { utf8: /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, latin1: /[^\x20-\x7e]/ } as const

const escapes: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** An interactive shell expands `!` within double quotes, so it is escaped, too. */
function escapeCharacter(character: string, encoding: 'utf8' | 'latin1'): string {
  const isWritten = !unseen[encoding].test(character) && !/['!\\]/.test(character)
  if (isWritten) return character
  return escapes.get(character) ?? Array.from(Buffer.from(character, encoding), toOctal).join('')
}

/** The octal escape of a byte for `%b` of printf. */
function toOctal(byte: number): string {
  return `\\0${byte.toString(8).padStart(3, '0')}`
}
