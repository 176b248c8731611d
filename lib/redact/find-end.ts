/** The quote at a place with the backslashes before it: `"`, `\"`, `\\\"`. Empty without a quote. */
export function quoteAt(text: string, at: number): string {
  let end = at
  while (text.charAt(end) === '\\') end++
  return /["'`]/.test(text.charAt(end)) ? text.slice(at, end + 1) : ''
}

/**
 * Finds the end of a quoted text: the next quote with the same backslashes, or a quote with fewer, which ends the text
 * around. Without one it is the end of the text. A single quote may be doubled, as in SQL.
 */
export function findQuoteEnd(text: string, from: number, quote: string): number {
  const mark = quote.charAt(quote.length - 1)
  const slashes = quote.length - 1
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1)) {
    let run = at
    while (run > from && text.charAt(run - 1) === '\\') run--
    const count = at - run
    if (count < slashes) return run
    if (count % (2 * slashes + 2) !== slashes) continue
    if (slashes === 0 && mark === "'" && at > from && text.charAt(at + 1) === "'") at++
    else return at - slashes
  }
  return text.length
}

/** Finds the end of a group in brackets, behind the last bracket. Brackets in quotes do not count. */
export function findGroupEnd(text: string, from: number): number {
  const marks = /["'`]|[{[(]|[}\])]/g
  marks.lastIndex = from
  let depth = 0
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const [mark] = found
    if (/["'`]/.test(mark)) {
      let run = found.index
      while (run > from && text.charAt(run - 1) === '\\') run--
      const quote = text.slice(run, found.index + 1)
      marks.lastIndex = findQuoteEnd(text, found.index + 1, quote) + quote.length
    } else if (/[{[(]/.test(mark)) depth++
    else if (--depth <= 0) return found.index + 1
  }
  return text.length
}

/**
 * Finds the end of a line: a line break, an escaped one (`\n`), or the end of the quotes around the line. Quotes behind `=`
 * belong to the line: `Digest username="a", realm="b"`. With `endsAtPair` the next ` name=` or `;name:` ends it, too.
 */
export function findLineEnd(text: string, from: number, endsAtPair = false): number {
  const marks = endsAtPair ? /[\r\n\\"'`]|[ \t;&,]{1,3}[\w.$-]{1,40}\s?[=:]/g : /[\r\n\\"'`]/g
  marks.lastIndex = from
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const at = found.index
    const mark = markAt(text, at)
    if (mark.isEnd) return at
    const end = at + mark.quote.length
    if (mark.quote === '') marks.lastIndex = at + mark.length
    else if (text.charAt(at - 1) === '=') marks.lastIndex = findQuoteEnd(text, end, mark.quote) + mark.quote.length
    else if (!isWithinWord(text, at, end)) return at
    else marks.lastIndex = end
  }
  return text.length
}

/**
 * Finds the end of a word of a query. With `isSentence` a comma or a bracket also ends it, with `isQuery` each `&`, even
 * without a pair behind it. A quote within a word is a part of it, as in `it's`.
 */
export function findWordEnd(text: string, from: number, isSentence: boolean, isQuery: boolean): number {
  const marks = /[&#\s"'<>`;\\,)}\]]/g
  marks.lastIndex = from
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const at = found.index
    const character = text.charAt(at)
    if (character === '&') {
      if (isQuery || skip(lastPart, text, at) === at) return at
    } else if (character === '<') {
      if (skip(tag, text, at) > at) return at
    } else if (character === ';') {
      if (skip(isSentence ? sentenceEnd : statementEnd, text, at) > at) return at
    } else if (/[,)}\]]/.test(character)) {
      if (isSentence && skip(sentenceEnd, text, at) > at) return at
    } else if (/[\\"'`]/.test(character)) {
      const mark = markAt(text, at)
      const end = at + mark.length
      if (mark.isEnd || (mark.quote !== '' && !isWithinWord(text, at, end))) return at
      marks.lastIndex = end
    } else return at
  }
  return text.length
}

/** An `&` without a pair behind it is a part of a password. */
const lastPart = /&[^\s&#"'`<>=]{1,100}(?:[\s"'`<>#&]|$)/y
const tag = /<(?:[/!]|[a-z][\w:-]{0,20}[\s/>])/y
const statementEnd = /;(?:\s|$)/y
const sentenceEnd = /[;,)}\]](?:[\s,;)}\]"'`]|$|[\w$-]{1,40}\s?[:=])/y

/** Where a pattern with the flag `y` ends that begins at a place; the place itself if it does not match. */
export function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

interface Mark {
  /** The quote with the backslashes before it; empty without a quote. */
  readonly quote: string
  readonly length: number
  /** Whether the mark is a line break, or an escaped one. */
  readonly isEnd: boolean
}

function markAt(text: string, at: number): Mark {
  const first = text.charAt(at)
  if (!/["'`\\]/.test(first)) return { quote: '', length: 1, isEnd: true }
  const quote = quoteAt(text, at)
  if (quote !== '') return { quote, length: quote.length, isEnd: false }
  let end = at
  while (text.charAt(end) === '\\') end++
  return { quote: '', length: end - at, isEnd: /[nrt]/.test(text.charAt(end)) }
}

/** A quote between two characters of a word. */
function isWithinWord(text: string, at: number, end: number): boolean {
  return /[\w%]/.test(text.charAt(at - 1)) && /[\w%]/.test(text.charAt(end))
}
