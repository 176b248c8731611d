/** Where a pattern with the flag `y` ends that begins at a place; the place itself if it does not match. */
export function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

const quoteMark = /"""|\\*["'`]/y

/**
 * The quote at a place with the backslashes before it: `"`, `\"`, `\\\"`, and `"""` of GraphQL and
 * Python. Empty without a quote.
 */
export function quoteAt(text: string, at: number): string {
  return text.slice(at, skip(quoteMark, text, at))
}

/**
 * Finds the end of a quoted text: the next quote with the same backslashes, or a quote with fewer, which ends the text
 * around. Without one it is the end of the text. A single quote may be doubled, as in SQL.
 */
export function findQuoteEnd(text: string, from: number, quote: string): number {
  if (quote === '"""') return text.includes(quote, from) ? text.indexOf(quote, from) : text.length
  const mark = quote.charAt(quote.length - 1)
  const slashes = quote.length - 1
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1)) {
    const run = startOfRun(text, from, at)
    const count = at - run
    if (count < slashes) return run
    if (count % (2 * slashes + 2) !== slashes) continue
    if (slashes === 0 && mark === "'" && at > from && text.charAt(at + 1) === "'") at++
    else return at - slashes
  }
  return text.length
}

/** Where the backslashes before a place begin. */
function startOfRun(text: string, from: number, at: number): number {
  let run = at
  while (run > from && text.charAt(run - 1) === '\\') run--
  return run
}

/** Finds the end of a group in brackets, behind the last bracket. Brackets in quotes do not count. */
export function findGroupEnd(text: string, from: number): number {
  const marks = /["'`]|[{[(]|[}\])]/g
  marks.lastIndex = from
  let depth = 0
  for (let found = marks.exec(text); found !== null; found = marks.exec(text)) {
    const [mark] = found
    if (/["'`]/.test(mark)) {
      const quote = text.slice(startOfRun(text, from, found.index), found.index + 1)
      marks.lastIndex = findQuoteEnd(text, found.index + 1, quote) + quote.length
    } else if (/[{[(]/.test(mark)) depth++
    else if (--depth <= 0) return found.index + 1
  }
  return text.length
}

/** A quote or a backslash in the middle of a text: a quote between characters of a word, and no escaped line break. */
const innerMark = String.raw`(?<=[\w%])\\*["'\x60](?=[\w%])|\\+(?![nrt"'\x60\\])`
const pairNext = String.raw`[ \t;&,]{1,3}[\w.$-]{1,40}\s?[=:]`
const line = new RegExp(String.raw`(?:[^\r\n\\"'\x60]|${innerMark})+`, 'y')
const lineOfPair = new RegExp(String.raw`(?:[^\r\n\\"'\x60 \t;&,]|(?!${pairNext})[ \t;&,]|${innerMark})+`, 'y')

/**
 * Finds the end of a line: a line break, an escaped one (`\n`), or the end of the quotes around
 * the line. Quotes behind `=` belong to the line: `Digest username="a", realm="b"`. With
 * `endsAtPair` the next ` name=` or `;name:` ends it, too.
 */
export function findLineEnd(text: string, from: number, endsAtPair = false): number {
  let end = from
  for (;;) {
    end = skip(endsAtPair ? lineOfPair : line, text, end)
    const quote = text.charAt(end - 1) === '=' ? quoteAt(text, end) : ''
    if (quote === '') return end
    end = Math.min(findQuoteEnd(text, end + quote.length, quote) + quote.length, text.length)
  }
}

const behindSentence = String.raw`(?:[\s,;)}\]"'\x60]|$|[\w$-]{1,40}\s?[=:])`
/** An \`&\` without a pair behind it is a part of a password. */
const lastPart = String.raw`&(?=[^\s&#"'\x60<>=]{1,100}(?:[\s"'\x60<>#&]|$))`
const noTag = String.raw`<(?![/!]|[a-z][\w:-]{0,20}[\s/>])`
const words = [`;(?!\\s|$)|[,)}\\]]`, `[;,)}\\]](?!${behindSentence})`].map(mark =>
  [`|${lastPart}`, ''].map(
    part => new RegExp(String.raw`(?:[^&#\s"'<>\x60;\\,)}\]]|${noTag}|${mark}|${innerMark}${part})+`, 'y'),
  ),
)

/**
 * Finds the end of a word of a query. With `isSentence` a comma or a bracket also ends it, with `isQuery`
 * each `&`, even without a pair behind it. A quote within a word is a part of it, as in `it's`.
 */
export function findWordEnd(text: string, from: number, isSentence: boolean, isQuery: boolean): number {
  return skip(words[Number(isSentence)]?.[Number(isQuery)] ?? line, text, from)
}
