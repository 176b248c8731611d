/** A name before a separator, and where it stands. */
export interface PlacedName {
  /** Without what surrounds it, and decoded: `token` of `/login%3Ftoken`. */
  readonly text: string
  readonly start: number
  /** The quote around it with the backslashes before that, as `\"`; empty when it stands bare. */
  readonly quote: string
  /**
   * `line`: first on its line. `part`: behind something that separates parts, such as a brace, comma or `&`. `prose`:
   * behind another word.
   */
  readonly position: 'line' | 'part' | 'prose'
  /** The last character before it that is no blank; empty when there is none. */
  readonly before: string
}

const lengthLimit = 100
const blankLimit = 40
const bareCharacter = /[\w.%[\]$\-\u0080-\uffff]/
const quotedCharacter = /[^\s"'`\\]/

/** Reads the name that ends at `to`; it begins no earlier than `from`. `undefined` when there is none. */
export function readName(text: string, from: number, to: number): PlacedName | undefined {
  let end = to
  while (end > from && to - end < blankLimit && isBlank(text.charAt(end - 1))) end--
  if (text.charAt(end - 1) === ']' && isQuote(text.charAt(end - 2))) end--
  const mark = text.charAt(end - 1)
  if (end <= from) return undefined
  if (isQuote(mark)) return readQuoted(text, from, end - 1)
  // A line break before a separator belongs to JSON, where names are quoted.
  if (/[\r\n]/.test(text.slice(end, to))) return undefined
  if (mark === '?') end--
  let start = end
  while (start > from && end - start < lengthLimit && bareCharacter.test(text.charAt(start - 1))) start--
  if (start === end) return undefined
  // A line break that is written as `\n`.
  const isEscaped = text.charAt(start - 1) === '\\' && /[nrt]/.test(text.charAt(start))
  if (isEscaped) start++
  return { text: lastPart(decode(text.slice(start, end))), start, quote: '', ...locate(text, start, isEscaped) }
}

function readQuoted(text: string, from: number, at: number): PlacedName | undefined {
  let end = at
  while (end > from && text.charAt(end - 1) === '\\') end--
  let start = end
  while (start > from && end - start < lengthLimit && quotedCharacter.test(text.charAt(start - 1))) start--
  const quote = text.slice(end, at + 1)
  if (start === end || text.charAt(start - 1) !== text.charAt(at)) return undefined
  return { text: text.slice(start, end), start, quote, ...locate(text, start - quote.length, false) }
}

function locate(text: string, start: number, isEscaped: boolean): Pick<PlacedName, 'position' | 'before'> {
  let at = start - 1
  while (start - at < blankLimit && /[ \t>*+#$-]/.test(text.charAt(at))) at--
  const before = text.charAt(at)
  if (isEscaped || before === '' || /[\r\n]/.test(before)) return { position: 'line', before: '' }
  return { position: /[{[(,;&?|"'`<\\]/.test(before) ? 'part' : 'prose', before }
}

function decode(name: string): string {
  if (!name.includes('%')) return name
  let decoded = name
  try {
    // A URL within a query within a query.
    for (let depth = 0; depth < 3 && decoded.includes('%'); depth++) decoded = decodeURIComponent(decoded)
  } catch {
    // The rest is no escape.
  }
  return decoded
}

function lastPart(name: string): string {
  let start = name.length
  while (start > 0 && !/[?&#/;,\s=:"'{]/.test(name.charAt(start - 1))) start--
  return name.slice(start)
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t' || character === '\n' || character === '\r'
}

function isQuote(character: string): boolean {
  return character === '"' || character === "'" || character === '`'
}
