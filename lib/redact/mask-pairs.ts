import { isNoName, isPlace, isProse, isPublic, opensProse, type Pair, strongName } from './prose.ts'
import { findGroupEnd, findLineEnd, findQuoteEnd, findWordEnd, quoteAt, skip } from './scan.ts'
import { findWords } from './secret-forms.ts'
import { mask, type NameTest, namesIn, namingKeys, valueKeys } from './secret-names.ts'

/** `=`, `:`, `=>`, comparisons, and the encoded `=` of a URL within a query. */
const separators = /=>|(?:[:!]|\|\||&&|\?\??)?={1,3}|:{1,2}|%(?:25){0,4}3d/gi

const namingName = new RegExp(`^(?:${namingKeys.join('|')})$`, 'i')
const holding = valueKeys.join('|')
const holdingName = new RegExp(`^(?:${holding})$`, 'i')
const holdingKey = new RegExp(`(?:${holding})[^\\w.-]{0,9}$`, 'i')
/** A name with its value next: `"apiKey","value":`. */
const holdingNext = new RegExp(
  String.raw`^\s?\\{0,9}(["'])[^"'\x60\\]{0,100}\\{0,9}\1\s{0,9},?\s{0,9}\\{0,9}["']?(?:${holding})\\{0,9}["']?\s?[:=]`,
  'i',
)
/** A value and its name are within these characters, and in the same braces, tag or item of a list. */
const reach = 300
const border = /[{}<>]|[\r\n][ \t]{0,99}- /

/**
 * Masks the values of secret names in queries, forms, headers, JSON, the output of `util.inspect`
 * and other languages, YAML, INI and assignments. It looks for separators, and reads the name
 * before each. A regular expression would try every start of every name; here each character is
 * read a bounded number of times. `places` are the ends of parts of secret names.
 */
export function maskPairs(text: string, isSecret: NameTest, places = placesOf(text)): string {
  let masked = ''
  let done = 0
  let after = 0
  let next = 0
  for (const { 0: separator, index } of text.matchAll(separators)) {
    const from = Math.max(after, done)
    after = index + separator.length
    if (index < done || separator === '::') continue
    // Most separators are far from each part of a secret name, and few others are behind a key such as `value`.
    while ((places[next] ?? index) < from) next++
    if ((places[next] ?? index) >= index) {
      const isFar = (places[next] ?? 1e9) > index + reach && (places[next - 1] ?? -1e9) < index - reach
      if (isFar || !holdingKey.test(text.slice(Math.max(from, index - 20), index))) continue
    }
    const pair = readPair(text, from, index, separator)
    if (pair === undefined || !isOfSecret(pair, isSecret) || isNoName(pair)) continue
    const value = new PairReader(pair).read()
    if (value === undefined || value.start >= value.end) continue
    masked += text.slice(done, value.start) + value.mask
    done = value.end
  }
  return masked + text.slice(done)
}

/** The ends of parts of secret names, and of names that are secret in this text. */
export function placesOf(text: string, names: ReadonlySet<string> = new Set()): number[] {
  const places: number[] = []
  findWords(text, places)
  if (names.size === 0) return places
  const found = [...text.matchAll(/\w+/g)].filter(([word]) => names.has(word))
  return [...places, ...found.map(({ 0: { length }, index }) => index + length - 1)].sort((a, b) => a - b)
}

/** Whether the name of a pair is secret, or the name of its object: `{"name":"password","value":"x"}`. */
function isOfSecret({ from, name, start, text }: Pair, isSecret: NameTest): boolean {
  const behind = text.slice(from, from + reach)
  if (!holdingName.test(name)) return isSecret(name) && !(namingName.test(name) && holdingNext.test(behind))
  const before = text.slice(Math.max(0, start - reach), start)
  return isSecret(name) || namesIn(`${before.split(border).at(-1)}\n${behind.split(border, 1)}`, name).some(isSecret)
}

/** Only in JSON, where names are quoted, a line break may come before a separator. */
const nameBefore =
  /(?<=\k<mark>(?<quoted>[^\s"'`\\]{1,100})(?<end>(?<quote>\\*(?<mark>["'`]))\]?\s{0,39})|(?<bare>[\w.%[\]$\-\u0080-\uffff]{1,100})(?<tail>\??[ \t]{0,39}))/y

/** Reads the name between two places, of which the second is that of the separator; `undefined` if there is none. */
function readPair(text: string, begin: number, index: number, separator: string): Pair | undefined {
  // Far more than a name and the blanks behind it.
  const near = text.slice(Math.max(begin, index - 200), index)
  nameBefore.lastIndex = near.length
  const { bare = '', end = '', quote = '', quoted = '', tail = '' } = nameBefore.exec(near)?.groups ?? {}
  // The type of an optional property follows.
  if (quoted + bare === '' || (tail === '?' && separator === ':')) return undefined
  let start = index - (quoted + end + bare + tail).length
  // An escaped line break (`\n`) before the name.
  const isEscaped = bare !== '' && text.charAt(start - 1) === '\\' && /[nrt]/.test(bare.charAt(0))
  if (isEscaped) start++
  const name = quoted || decode(bare.slice(Number(isEscaped))).replace(/^.*[?&#/;,\s=:"'{]/s, '')
  let at = start - quote.length - 1
  const first = at
  while (first - at < 39 && /[ \t>*+#$-]/.test(text.charAt(at))) at--
  const before = isEscaped ? '' : text.charAt(at).trim()
  const isPart = /[{[(,;&?|"'`<\\]/.test(before)
  const position = before === '' ? 'line' : before === ':' && at < first ? 'sentence' : isPart ? 'part' : 'prose'
  return { text, name, start, quote, position, before, separator, from: index + separator.length }
}

/**
 * Decodes the escapes of ASCII characters; names of secrets have no others. Never throws: a URL
 * may have thousands of wrong escapes, and an exception costs microseconds.
 */
function decode(name: string): string {
  let decoded = name
  // A URL may be within a query within a query.
  for (let depth = 0; depth < 3 && decoded.includes('%'); depth++)
    decoded = decoded.replace(/%([0-7][\da-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decoded
}

/** A secret part of a text, and its replacement. */
interface FoundValue {
  readonly start: number
  readonly end: number
  readonly mask: string
}

/** Placeholders, literals and masks: what contains no secret. */
const harmless = new RegExp(
  String.raw`(?:\$\d{1,3}|\?|%s|\(\))(?![\w$%&-])|\("@[a-z]|\$\{[A-Z_][A-Z\d_]{0,60}\}|\*{6}(?!\w)|` +
    String.raw`(?:null|NULL|undefined|true|false|NaN|YES|NO|\[(?:Circular|Getter|Setter|Function)[^\]\r\n]{0,100}\])(?![\w-])|` +
    String.raw`(?:(?:process|import\.meta)\.)?env\.\w{1,60}(?=\s{0,3}(?:[,;)}\r\n]|$))`,
  'y',
)
const number = /-?\d[\d.eE+-]*/y
/** `Map(1) {`, `[Object: null prototype] {`. */
const className = /(?:\[[A-Z][^\]\r\n]{0,60}\]|[A-Z][\w$]{0,50}(?:\(\d{1,9}\))?) (?=[{[])/y
const buffer = /<[A-Z]\w{0,20}(?: [^<>\r\n]{0,400})?>/y
/** Brackets with nothing between them. */
const emptyGroup = /[{[]\s{0,9}[}\]]/y
/** The operator between the parts of a literal that is longer than a line. */
const nextLiteral = /\s{0,40}\+\s{0,40}(?=["'`])/y
/** Prefixes of literals in Python, SQL, C# and other languages; their types in TypeScript, GraphQL and dumps of PHP. */
const prefix = /(?:[bBrRuUfNE@$]{1,2}|[Ss]tring!?\s{0,3}=\s{0,3}|string\(\d{1,9}\) )(?=["'])/y
/** The type of a variable of GraphQL before its default, and a type without one. */
const typeBefore = /\[{0,3}[A-Za-z_]\w{0,100}[!\]]{0,6}\s{0,9}=\s{0,9}/y
const typeAlone = /\[{0,3}(?:Boolean|Float|ID|Int|String)[!\]]{0,6}(?![\w-]|\s{0,9}=)/y
const operator = /(?:await|async|new|function|typeof|yield)\s|[A-Za-z_$][\w$.:]{0,100}\(/y
const member = /[A-Za-z_$][\w$]{0,99}[.?[]|[({!]/y
const lineBreak = /[ \t]*([|>][-+]?\d?[ \t]*)?(?:\r\n?|\n)/y
/** The blanks at the beginning of a line, before the name that is first on it, or before all of it. */
const indents = { line: /(?<=^([ \t>*+#$-]*))/my, other: /(?<=^([ \t]*)(?:[^ \t\r\n][^\r\n]*)?)/my }
/** Characters of a line in which a value and the sentence behind it are looked for. */
const proseReach = 500

/** Reads the value behind a name and its separator. The first reader that finds something wins. */
class PairReader {
  readonly #pair: Pair
  /** Where the value begins, behind blanks and the prefix of a literal. */
  readonly #at: number

  constructor(pair: Pair) {
    const { from, name, quote, separator, text } = pair
    const isBreaking = quote !== '' || separator === ':' || separator.startsWith('=')
    this.#pair = pair
    const at = skip(isBreaking ? /\s{0,100}/y : /[ \t]{0,100}/y, text, from)
    this.#at = skip(prefix, text, name.startsWith('$') ? skip(typeBefore, text, at) : at)
  }

  /** Finds the value; `undefined` if there is none, or no secret. */
  read(): FoundValue | undefined {
    const { from, separator, text } = this.#pair
    if (separator.startsWith('%')) return { start: from, end: findWordEnd(text, from, false, true), mask }
    const quote = quoteAt(text, this.#at)
    if (isPublic(this.#pair, this.#at + quote.length)) return undefined
    if (quote !== '') return this.#quoted(this.#at + quote.length, quote)
    if (/[!=]=/.test(separator) || this.#isHarmless()) return undefined
    return this.#block() ?? this.#group() ?? this.#number() ?? this.#bare()
  }

  #found(start: number, end: number): FoundValue {
    const { quote } = this.#pair
    return { start, end, mask: `${quote}${mask}${quote}` }
  }

  /** An empty value, a placeholder, a mask, or a variable of the same name: `$token`, `this.#token = token`. */
  #isHarmless(): boolean {
    const { name, text } = this.#pair
    const at = this.#at
    const variable = text.startsWith('= ', at - 2) && text.startsWith(name, at) ? name : `$${name}`
    const isVariable = text.startsWith(variable, at) && !/[\w$(-]/.test(text.charAt(at + variable.length))
    const begin = skip(className, text, at)
    const isTyped = name.startsWith('$') && skip(typeAlone, text, at) > at
    return isVariable || isTyped || skip(harmless, text, at) > at || skip(emptyGroup, text, begin) > begin
  }

  #quoted(start: number, quote: string): FoundValue {
    const { text } = this.#pair
    let end = findQuoteEnd(text, start, quote)
    for (let next = 0, more = quote; end > start && more !== ''; ) {
      next = skip(nextLiteral, text, end + more.length)
      more = next > end + more.length ? quoteAt(text, next) : ''
      if (more !== '') end = findQuoteEnd(text, next + more.length, more)
    }
    return { start, end, mask }
  }

  /** The value of a name in YAML by its indentation: a list, a text of several lines, or other names. */
  #block(): FoundValue | undefined {
    const { from, position, quote, separator, start, text } = this.#pair
    if (separator !== ':' || position === 'part' || quote !== '') return undefined
    lineBreak.lastIndex = from
    const [head, marker] = lineBreak.exec(text) ?? []
    if (head === undefined) return undefined
    const indent = position === 'line' ? indents.line : indents.other
    indent.lastIndex = start
    const own = indent.exec(text)?.[1]?.length ?? 0
    const line = `(?:[ \\t]{${own + 1},}(?=[^ \\t\\r\\n])|[ \\t]{${own},}(?=- ))`
    const block = new RegExp(`${line}(- )?([^\\r\\n]*(?:(?:\\r\\n?|\\n)${line}[^\\r\\n]*)*)`, 'y')
    block.lastIndex = from + head.length
    const [, item, content = ''] = block.exec(text) ?? []
    const first = block.lastIndex - content.length
    const isSaid = marker === undefined && item === undefined && !/^[\w.-]{1,100}:(?:\s|$)/.test(content.slice(0, 102))
    // A stack behind a message, or a sentence, but no value.
    if (content === '' || (isSaid && (content.startsWith('at ') || isProse(this.#pair, first)))) return undefined
    return { start: first, end: block.lastIndex, mask }
  }

  /** Everything under a secret name is secret, also under other names within. */
  #group(): FoundValue | undefined {
    const { text } = this.#pair
    const begin = skip(className, text, this.#at)
    const end = skip(buffer, text, this.#at)
    if (end > this.#at) return this.#found(this.#at, end)
    return !/[{[]/.test(text.charAt(begin)) || this.#isArrow()
      ? undefined
      : this.#found(this.#at, findGroupEnd(text, begin))
  }

  /** The parameter of an arrow function is no name of a value. */
  #isArrow(): boolean {
    const { name, quote, separator } = this.#pair
    return separator === '=>' && quote === '' && !name.includes('[')
  }

  #number(): FoundValue | undefined {
    const { quote, separator, text } = this.#pair
    const end = skip(number, text, this.#at)
    return quote === '' || separator !== ':' || end === this.#at ? undefined : this.#found(this.#at, end)
  }

  #bare(): FoundValue | undefined {
    const { from, separator, text } = this.#pair
    const at = this.#at
    if (/[)\]},;|]/.test(text.charAt(at)) || text.slice(from, at).includes('\n')) return undefined
    if (separator === ':') return isPlace(this.#pair, at) || isProse(this.#pair, at) ? undefined : this.#rest()
    // `token => token.value`, `token = getToken()`, and `password = MD5('…')`
    const open = skip(operator, text, at)
    const isCode = (separator !== '=' || at > from) && (open > at || (this.#isArrow() && skip(member, text, at) > at))
    if (!isCode) return this.#rest()
    const quote = text.charAt(open - 1) === '(' ? quoteAt(text, open) : ''
    return quote === '' ? undefined : this.#quoted(open + quote.length, quote)
  }

  /** A value without quotes: a word, or the rest of its line. */
  #rest(): FoundValue {
    const { before, name, position, quote, separator, start, text } = this.#pair
    const at = this.#at
    // All of the line belongs to the header.
    if (/authorization|cookie|signature$/i.test(name)) return { start: at, end: findLineEnd(text, at), mask }
    const isQuoted = quote === '' && /["'`]/.test(text.charAt(start - 1))
    const isFirst = position === 'line' || position === 'sentence' || before === ';'
    const isLine = isQuoted || isFirst || (separator === ':' && strongName.test(name))
    // The whole line is read only if it is the value: a line may have many names.
    const near = isLine ? text.slice(0, at + proseReach) : text
    const limit = isLine ? findLineEnd(near, at, true) : text.length
    const wordEnd = findWordEnd(near.slice(0, limit), at, separator === ':', /[?&]/.test(before))
    if (!isLine || opensProse(text, wordEnd)) return { start: at, end: wordEnd, mask }
    if (position !== 'part' || isQuoted) return { start: at, end: findLineEnd(text, at, true), mask }
    // A line may have many parts: it is read no further than four times the value.
    for (let reach = wordEnd + proseReach; ; reach += 3 * (reach - at)) {
      const lineEnd = findLineEnd(text.slice(0, reach), at, true)
      const length = text.slice(wordEnd, lineEnd).search(/[,;)}\]|]/)
      // Nearer to the end of what is read, a quote may be within a word.
      const isWhole = lineEnd < reach - 100 || reach > text.length
      if (length >= 0 || isWhole) return { start: at, end: length < 0 ? lineEnd : wordEnd + length, mask }
    }
  }
}
