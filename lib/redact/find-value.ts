import { findBlock } from './find-block.ts'
import { findGroupEnd, findLineEnd, findQuoteEnd, findWordEnd, quoteAt } from './find-end.ts'
import { goesOnAsProse, isPlace, isProse } from './is-prose.ts'
import { mask } from './mask.ts'
import type { PlacedName } from './read-name.ts'

/** The part of a text that is a secret, and its replacement. */
export interface FoundValue {
  readonly start: number
  readonly end: number
  readonly mask: string
}

/** Placeholders and literals that contain no secret. */
const literal =
  /(?:\$\d{1,3}|\?|%s)(?![\w$%&-])|(?:null|undefined|true|false|NaN|\[(?:Circular|Getter|Setter|Function)[^\]\r\n]{0,100}\])(?![\w-])/y
const number = /-?\d[\d.eE+-]*/y
/** `Map(1) {`, `[Object: null prototype] {`. */
const className = /(?:\[[A-Z][^\]\r\n]{0,60}\]|[A-Z][\w$]{0,50}(?:\(\d{1,9}\))?) (?=[{[])/y
const buffer = /<[A-Z]\w{0,20}(?: [^<>\r\n]{0,400})?>/y
/** Literals that a line was too short for. */
const nextLiteral = /\s{0,40}\+\s{0,40}(?=["'`])/y
/** The prefixes of literals in Python, SQL, C# and others. */
const prefix = /[bBrRuUfNE@$]{1,2}(?=["'])/y
const operator = /(?:await|async|new|function|typeof|yield)\s|[A-Za-z_$][\w$.]{0,100}\(/y
const masked = /\*{6}(?!\w)/y
/** Brackets with nothing between them. */
const emptyGroup = /[{[]\s{0,9}[}\]]/y

/** Finds the value behind a separator that ends at `from`; `undefined` when there is none, or none that is a secret. */
export function findValue(text: string, name: PlacedName, separator: string, from: number): FoundValue | undefined {
  if (separator.startsWith('%')) return found(from, findWordEnd(text, from, false, true), mask)
  const isComparison = /[!=]=/.test(separator)
  const isBreaking = name.quote !== '' || separator === ':' || separator.startsWith('=')
  let start = from
  while (start - from < 100 && (isBreaking ? /\s/ : /[ \t]/).test(text.charAt(start))) start++
  start = skip(prefix, text, start)

  const quote = quoteAt(text, start)
  if (quote !== '') return findQuoted(text, start + quote.length, quote)
  if (isComparison || isHarmless(text, start)) return undefined
  if (separator === ':') {
    const block = findBlock(text, name, from)
    if (block !== undefined) return found(block.start, block.end, mask)
  }
  const group = findGroup(text, name, separator, start)
  if (group !== undefined) return group
  if (name.quote !== '' && separator === ':') {
    const end = skip(number, text, start)
    if (end > start) return found(start, end, `${name.quote}${mask}${name.quote}`)
  }
  const isOnNextLine = text.slice(from, start).includes('\n')
  if (isOnNextLine) return undefined
  return findBare(text, name, separator, from, start)
}

function found(start: number, end: number, replacement: string): FoundValue | undefined {
  return start >= end ? undefined : { start, end, mask: replacement }
}

/** Nothing, what stands for nothing, or a mask. */
function isHarmless(text: string, at: number): boolean {
  const begin = skip(className, text, at)
  return skip(literal, text, at) > at || skip(emptyGroup, text, begin) > begin || skip(masked, text, at) > at
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function findQuoted(text: string, start: number, quote: string): FoundValue | undefined {
  let end = findQuoteEnd(text, start, quote)
  if (end === start) return undefined
  for (;;) {
    const next = skip(nextLiteral, text, end + quote.length)
    const more = next > end + quote.length ? quoteAt(text, next) : ''
    if (more === '') return found(start, end, mask)
    end = findQuoteEnd(text, next + more.length, more)
  }
}

/** Everything under a secret name is secret, whatever its own names are. */
function findGroup(text: string, name: PlacedName, separator: string, at: number): FoundValue | undefined {
  const begin = skip(className, text, at)
  const end = skip(buffer, text, at)
  const quoted = name.quote === '' ? mask : `${name.quote}${mask}${name.quote}`
  if (end > at) return found(at, end, quoted)
  // The parameter of a function is no name of a value.
  if (!/[{[]/.test(text.charAt(begin)) || (separator === '=>' && name.quote === '' && !name.text.includes('['))) {
    return undefined
  }
  return found(at, findGroupEnd(text, begin), quoted)
}

function findBare(
  text: string,
  name: PlacedName,
  separator: string,
  from: number,
  start: number,
): FoundValue | undefined {
  if (/[)\]},;|]/.test(text.charAt(start))) return undefined
  if (separator === ':') {
    if (start === from && name.quote === '' && isPlace(text, name, start)) return undefined
    if (isProse(text, name, start)) return undefined
  } else if (isCode(text, name, separator, from, start)) return findArgument(text, start)
  return found(start, findBareEnd(text, name, separator, start), mask)
}

/** `token => token.value`, `token = getToken()`. */
function isCode(text: string, name: PlacedName, separator: string, from: number, start: number): boolean {
  if (separator === '=' && start === from) return false
  const isFunction = separator === '=>' && name.quote === '' && !name.text.includes('[')
  return (
    skip(operator, text, start) > start ||
    (isFunction && /^(?:[A-Za-z_$][\w$]*[.?[]|[({!])/.test(text.slice(start, start + 100)))
  )
}

/** `password = MD5('…')` */
function findArgument(text: string, start: number): FoundValue | undefined {
  const open = skip(operator, text, start)
  const quote = quoteAt(text, open)
  return quote === '' || text.charAt(open - 1) !== '(' ? undefined : findQuoted(text, open + quote.length, quote)
}

function findBareEnd(text: string, name: PlacedName, separator: string, start: number): number {
  // All that follows is of the header.
  if (/authorization|cookie/i.test(name.text)) return findLineEnd(text, start)
  const isQuoted = name.quote === '' && /["'`]/.test(text.charAt(name.start - 1))
  const isLine = name.position === 'line' || isQuoted || name.before === ';'
  const limit = isLine ? findLineEnd(text, start, true) : text.length
  const wordEnd = findWordEnd(text.slice(0, limit), start, separator === ':', /[?&]/.test(name.before))
  return isLine && !goesOnAsProse(text, wordEnd) ? limit : wordEnd
}
