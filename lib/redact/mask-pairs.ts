import { findGroupEnd, findLineEnd, findQuoteEnd, findWordEnd, quoteAt, skip } from './mask-credentials.ts'
import { findWords } from './secret-forms.ts'
import { mask, type NameTest, namingKeys, valueKeys } from './secret-names.ts'

/** `=`, `:`, `=>`, comparisons, and the encoded `=` of a URL within a query. */
const separators = /=>|(?:[:!]|\|\||&&|\?\??)?={1,3}|:{1,2}|%(?:25){0,4}3d/gi

/** The keys of a name and its value: `{"name":"password","value":"x"}`. */
const namingName = new RegExp(`^(?:${namingKeys.join('|')})$`, 'i')
const valueNames = `(?:${valueKeys.join('|')})`
const namedValue = new RegExp(`^${valueNames}$`, 'i')
const namedDistance = 300
const isKey = new RegExp(`(?:${[...namingKeys, ...valueKeys].join('|')})[^\\w.-]{0,9}$`, 'i')
/** A value and its name behind it are within these characters. */
const reach = 2 * namedDistance

/**
 * Masks the values of secret names in queries, forms, headers, JSON, the output of `util.inspect` and other languages, YAML,
 * INI and assignments. It looks for separators, and reads the name before each. A regular expression would try every start
 * of every name; here each character is read a bounded number of times.
 */
export function maskPairs(
  text: string,
  isSecret: NameTest,
  given = placesOf(text),
  variables: readonly string[] = [],
): string {
  const places = variables.length === 0 ? given : addPlaces(given, text, variables)
  let masked = ''
  let done = 0
  let after = 0
  /** The place of a pair with a secret name (`"name":"password"`) whose value has not come yet. */
  let named: number | undefined
  /** A value whose name has not come yet. */
  let unnamed: FoundValue | undefined
  const write = ({ end, mask, start }: FoundValue) => {
    masked += text.slice(done, start) + mask
    done = end
    unnamed = undefined
    named = undefined
  }
  let next = 0
  for (const { 0: separator, index } of text.matchAll(separators)) {
    const from = Math.max(after, done)
    after = index + separator.length
    if (index < done || separator === '::') continue
    // Most separators are far from each part of a secret name, and few others are behind a key such as `value`.
    while ((places[next] ?? index) < from) next++
    const place = places[next] ?? text.length
    if (
      place >= index &&
      ((named === undefined && place >= index + reach) || !isKey.test(text.slice(from, index).slice(-20)))
    )
      continue
    const name = readName(text, from, index)
    if (name === undefined || isNameOfKeys(text, name)) continue
    if (separator === ':' && (isNameOfError(name) || isCodeOfError(text, name, after))) continue
    const isNaming = namingName.test(name.text)
    if (isSecret(name.text) && !(isNaming && namesNext(text, after))) {
      const value = findValue(text, name, separator, after)
      if (value !== undefined) write(value)
    } else if (isNaming) {
      if (!isSecret(readShort(text, after))) continue
      if (unnamed !== undefined && isSameObject(text, unnamed.start, index)) write(unnamed)
      else named = index
    } else if (namedValue.test(name.text)) {
      const isNamed = named !== undefined && isSameObject(text, named, index)
      const value = findValue(isNamed ? text : text.slice(0, after + namedDistance), name, separator, after)
      if (isNamed && value !== undefined) write(value)
      else unnamed = value
    }
  }
  return masked + text.slice(done)
}

/** The ends of the parts of secret names. */
function placesOf(text: string): number[] {
  const places: number[] = []
  findWords(text, places)
  return places
}

/** Adds the ends of the variables that are secret names here. */
function addPlaces(places: readonly number[], text: string, variables: readonly string[]): number[] {
  const pattern = new RegExp(`\\b(?:${variables.join('|')})\\b`, 'g')
  const ends = [...text.matchAll(pattern)].map(({ 0: { length }, index }) => index + length - 1)
  return [...places, ...ends].sort((a, b) => a - b)
}

/** Whether two places are in the same braces or the same tag. */
function isSameObject(text: string, from: number, to: number): boolean {
  return to - from < namedDistance && !/[{}<>]/.test(text.slice(from, to))
}

/** Whether the text here is a name with a value behind it: `"key":"apiKey","value":`. */
function namesNext(text: string, from: number): boolean {
  return nextValue.test(text.slice(from, from + namedDistance))
}

const nextValue = new RegExp(
  /^\s?\\{0,9}(["'])[^"'`\\]{0,100}\\{0,9}\1\s{0,9},?\s{0,9}\\{0,9}["']?/.source +
    valueNames +
    /\\{0,9}["']?\s?[:=]/.source,
  'i',
)

/** A short text in quotes, or a word that is the rest of its line; empty without one. */
function readShort(text: string, from: number): string {
  const start = text.charAt(from) === ' ' ? from + 1 : from
  const quote = quoteAt(text, start)
  if (quote === '') return String(/^[\w.-]{1,100}(?=\s*(?:[\r\n]|$))/.exec(text.slice(start, start + 102)) ?? '')
  const quoted = text.slice(start + quote.length, start + quote.length + 100)
  return quoted.slice(0, quoted.search(/["'`\\]|$/))
}

/** A secret part of a text, and its replacement. */
interface FoundValue {
  readonly start: number
  readonly end: number
  readonly mask: string
}

/** Placeholders and literals that contain no secret. */
const literal =
  /(?:\$\d{1,3}|\?|%s|\(\))(?![\w$%&-])|\("@[a-z]|\$\{[A-Z_][A-Z\d_]{0,60}\}|(?:null|NULL|undefined|true|false|NaN|YES|NO|\[(?:Circular|Getter|Setter|Function)[^\]\r\n]{0,100}\])(?![\w-])|(?:(?:process|import\.meta)\.)?env\.\w{1,60}(?=\s{0,3}(?:[,;)}\r\n]|$))/y
const number = /-?\d[\d.eE+-]*/y
/** `Map(1) {`, `[Object: null prototype] {`. */
const className = /(?:\[[A-Z][^\]\r\n]{0,60}\]|[A-Z][\w$]{0,50}(?:\(\d{1,9}\))?) (?=[{[])/y
const buffer = /<[A-Z]\w{0,20}(?: [^<>\r\n]{0,400})?>/y
/** The operator between the parts of a literal that is longer than a line. */
const nextLiteral = /\s{0,40}\+\s{0,40}(?=["'`])/y
/** Prefixes of literals in Python, SQL, C# and other languages; their types in TypeScript, GraphQL and dumps of PHP. */
const prefix = /(?:[bBrRuUfNE@$]{1,2}|[Ss]tring!?\s{0,3}=\s{0,3}|string\(\d{1,9}\) )(?=["'])/y
const operator = /(?:await|async|new|function|typeof|yield)\s|[A-Za-z_$][\w$.:]{0,100}\(/y
const masked = /\*{6}(?!\w)/y
/** Brackets with nothing between them. */
const emptyGroup = /[{[]\s{0,9}[}\]]/y

/** Finds the secret value behind a separator that ends at `from`; `undefined` if there is none. */
function findValue(text: string, name: PlacedName, separator: string, from: number): FoundValue | undefined {
  if (separator.startsWith('%')) return found(from, findWordEnd(text, from, false, true), mask)
  const isComparison = /[!=]=/.test(separator)
  const isBreaking = name.quote !== '' || separator === ':' || separator.startsWith('=')
  let start = from
  while (start - from < 100 && (isBreaking ? /\s/ : /[ \t]/).test(text.charAt(start))) start++
  start = skip(prefix, text, start)

  const quote = quoteAt(text, start)
  if (isPublic(text, name, start + quote.length)) return undefined
  if (quote !== '') return findQuoted(text, start + quote.length, quote)
  if (isComparison || isHarmless(text, name, start)) return undefined
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

/** An empty value, a placeholder, or a mask. */
function isHarmless(text: string, { text: name }: PlacedName, at: number): boolean {
  const begin = skip(className, text, at)
  // `$token`, `this.#token = token`
  const variable = text.startsWith('= ', at - 2) && text.startsWith(name, at) ? name : `$${name}`
  const isVariable = text.startsWith(variable, at) && !/[\w$(-]/.test(text.charAt(at + variable.length))
  return (
    isVariable || skip(literal, text, at) > at || skip(emptyGroup, text, begin) > begin || skip(masked, text, at) > at
  )
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

/** Everything under a secret name is secret, also under other names within. */
function findGroup(text: string, name: PlacedName, separator: string, at: number): FoundValue | undefined {
  const begin = skip(className, text, at)
  const end = skip(buffer, text, at)
  const quoted = name.quote === '' ? mask : `${name.quote}${mask}${name.quote}`
  if (end > at) return found(at, end, quoted)
  // The parameter of an arrow function is no name of a value.
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
  // All of the line belongs to the header.
  if (/authorization|cookie|signature$/i.test(name.text)) return findLineEnd(text, start)
  const isQuoted = name.quote === '' && /["'`]/.test(text.charAt(name.start - 1))
  const isLine = isQuoted || takesLine(name, separator)
  // The whole line is read only if it is the value: a line may have many names.
  const near = isLine ? text.slice(0, start + proseReach) : text
  const limit = isLine ? findLineEnd(near, start, true) : text.length
  const wordEnd = findWordEnd(near.slice(0, limit), start, separator === ':', /[?&]/.test(name.before))
  if (!isLine || goesOnAsProse(text, wordEnd)) return wordEnd
  const lineEnd = findLineEnd(text, start, true)
  if (name.position !== 'part' || isQuoted) return lineEnd
  const length = text.slice(wordEnd, lineEnd).search(/[,;)}\]|]|$/)
  return wordEnd + length
}

/** Characters of a line in which a value and the sentence behind it are looked for. */
const proseReach = 500

const lineBreak = /[ \t]*(?:[|>][-+]?\d?[ \t]*)?(?:\r\n?|\n)/y

/**
 * Finds the value of a name in YAML by its indentation: a list, a text of several lines, or other names. `undefined` if the
 * value does not begin on the next line.
 */
function findBlock(text: string, name: PlacedName, from: number): { start: number; end: number } | undefined {
  lineBreak.lastIndex = from
  if (name.position === 'part' || name.quote !== '' || !lineBreak.test(text)) return undefined
  let at = lineBreak.lastIndex
  const isMarked = /[|>]/.test(text.slice(from, at))
  const lineStart = startOfLine(text, name.start)
  const own = name.position === 'line' ? name.start - lineStart : text.slice(lineStart).search(/[^ \t]/)
  let start = -1
  let end = -1
  while (at < text.length) {
    const lineEnd = endOfLine(text, at)
    const indent = text.slice(at, lineEnd).search(/[^ \t]|$/)
    const isItem = text.startsWith('- ', at + indent)
    const isWithin = (isItem ? indent >= own : indent > own) && at + indent < lineEnd
    if (!isWithin || (start === -1 && !isMarked && isForeign(text, name, at + indent))) break
    if (start === -1) start = at + indent + (isItem ? 2 : 0)
    end = lineEnd
    at = lineEnd + (text.startsWith('\r\n', lineEnd) ? 2 : 1)
  }
  return start === -1 ? undefined : { start, end }
}

/** A search for each kind of line break would read all of the text if it has only the other kind. */
function startOfLine(text: string, from: number): number {
  let at = from
  while (at > 0 && !/[\r\n]/.test(text.charAt(at - 1))) at--
  return at
}

function endOfLine(text: string, from: number): number {
  const length = text.slice(from).search(/[\r\n]|$/)
  return from + length
}

/** A stack behind a message, or a sentence, but no value. */
function isForeign(text: string, name: PlacedName, at: number): boolean {
  if (/^(?:- |[\w.-]{1,100}:(?:\s|$))/.test(text.slice(at, at + 102))) return false
  return text.startsWith('at ', at) || isProse(text, name, at)
}

/** A name before a separator, and its place. */
interface PlacedName {
  /** The name alone, decoded: `token` of `/login%3Ftoken`. */
  readonly text: string
  readonly start: number
  /** The quote around the name with its backslashes, such as `\"`. Empty without quotes. */
  readonly quote: string
  /**
   * `line`: first on its line. `part`: behind a character that separates parts, such as a brace, comma or `&`. `prose`: behind
   * another word; `sentence`: behind a colon and a blank, such as `Error: `.
   */
  readonly position: 'line' | 'part' | 'prose' | 'sentence'
  /** The last character before the name that is no blank. Empty at the beginning of a line. */
  readonly before: string
}

const lengthLimit = 100
const blankLimit = 40
const bareCharacter = /[\w.%[\]$\-\u0080-\uffff]/
const quotedCharacter = /[^\s"'`\\]/

/** Reads the name that ends at `to` and begins at `from` or later; `undefined` if there is none. */
function readName(text: string, from: number, to: number): PlacedName | undefined {
  let end = to
  while (end > from && to - end < blankLimit && isBlank(text.charAt(end - 1))) end--
  if (text.charAt(end - 1) === ']' && isQuote(text.charAt(end - 2))) end--
  const mark = text.charAt(end - 1)
  if (end <= from) return undefined
  if (isQuote(mark)) return readQuoted(text, from, end - 1)
  // Only in JSON, where names are quoted, a line break may come before a separator.
  if (/[\r\n]/.test(text.slice(end, to))) return undefined
  // The type of an optional property follows.
  if (mark === '?' && text.charAt(to) === ':') return undefined
  if (mark === '?') end--
  let start = end
  while (start > from && end - start < lengthLimit && bareCharacter.test(text.charAt(start - 1))) start--
  if (start === end) return undefined
  // An escaped line break (`\n`) before the name.
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
  if (before === ':' && at < start - 1) return { position: 'sentence', before }
  return { position: /[{[(,;&?|"'`<\\]/.test(before) ? 'part' : 'prose', before }
}

/**
 * Decodes the escapes of ASCII characters; names of secrets have no others. Never throws: a URL may have thousands of wrong escapes, and
 * an exception costs microseconds.
 */
function decode(name: string): string {
  let decoded = name
  // A URL may be within a query within a query.
  for (let depth = 0; depth < 3 && decoded.includes('%'); depth++) decoded = decoded.replace(asciiEscape, toCharacter)
  return decoded
}

const asciiEscape = /%([0-7][\da-f])/gi

function toCharacter(_escape: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
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

/** Words that follow `password:` in a sentence or a program, but not in `password: hunter`. */
const functionWords = new Set(
  (
    'a an the is are was were be been being has have had not no none must should shall may might can cannot could would will ' +
    'does did do it its this that these those there here your our my his her their you we they i please enter expected got ' +
    'received found missing required requires unrecognized invalid expired failed unknown unsupported unexpected empty but or and if when ' +
    'where while which what how why for from in on at of to with by as into about than then only already never always also both ' +
    'either neither too very more less least unable see created updated deleted changed rotated revoked rejected accepted ' +
    'denied refused allowed mismatch wrong incorrect malformed stale optional string number boolean any object symbol ' +
    'bigint await new typeof'
  ).split(' '),
)

const word = /[A-Za-z]{1,40}(?:'[a-z]{1,2})?(?=[\s.,;:!?)|]|$)/y
const plainWord = /^[A-Z]?[a-z]+$/
/** Names that are followed by a secret, also within a sentence. */
const strongName = /passw|passphrase|passcode|pwd|secret|api[_-]?key|authorization|credentials?$/i
/** Names with a number as value. Behind other names, a number is a line or a port. */
const namesOfNumbers = /pin|cvv|cvc|otp|ssn|pass|pw|secret|mfa|2fa|code/i
const sourceFile = /\.(?:[cm]?[jt]sx?|json|ya?ml|html?|hbs|css|md|php|py|rb|go|rs|java|sql|map|vue|svelte)$/i

/** Whether the text behind `name:` and a blank is a sentence, and no value. */
function isProse(text: string, name: PlacedName, start: number): boolean {
  const next = wordAt(text, start)
  if (next === '') return false
  if (functionWords.has(next.toLowerCase())) return true
  if (strongName.test(name.text)) return false
  // A heading, a name within a sentence, or a class or channel with a sentence behind it.
  const isSaid = /^(?:prose|sentence)$/.test(name.position) || (name.quote === '' && /^[A-Z][a-z]+$/.test(name.text))
  return (
    plainWord.test(next) && (isSaid || (/^[A-Z][a-z]|\./.test(name.text) && isSentence(text.slice(start, start + 100))))
  )
}

/** A word with a capital letter, and a word soon behind it that a secret rarely has. */
function isSentence(text: string): boolean {
  const [first = '', ...words] = text.split(' ', 6)
  return /^[A-Z]/.test(first) && words.some(each => functionWords.has(each))
}

/** Whether a text before a colon is the name of an error: `KeyError: 'name'`, `TokenExpiredError: "jwt expired"`. */
function isNameOfError({ quote, text }: PlacedName): boolean {
  return quote === '' && /^(?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)$/.test(text)
}

/** Whether a name before a separator is the end of "Unrecognized key": the names of keys follow it, not their values. */
function isNameOfKeys(text: string, { start, text: name }: PlacedName): boolean {
  return (
    /^keys?$/.test(name) &&
    /\b(?:duplicate|foreign|missing|partition|public|sort|undefined|unknown|unrecognized) $/i.test(
      text.slice(Math.max(0, start - 15), start),
    )
  )
}

/**
 * Whether `NAME:` is the code of an error with its message behind it: `SESSION_STORE_FAILED: "The session store failed"`.
 * The code ends with the state that is wrong. The first words of the message repeat a word of the code, or contain a word
 * that a secret rarely has.
 */
function isCodeOfError(text: string, { quote, text: placed }: PlacedName, from: number): boolean {
  const name = placed.replace(/^\[|\]$/g, '')
  if (quote !== '' || !codeOfError.test(name) || nameOfWords.test(name)) return false
  const begin = text.slice(from, from + lengthLimit)
  if (quotedField.test(begin)) return true
  const [, message = ''] = firstWords.exec(begin) ?? []
  const parts = name.toLowerCase().split('_')
  const words = message.toLowerCase().split(' ')
  return words.length > 1 && words.some(word => functionWords.has(word) || parts.includes(word))
}

const codeOfError =
  /^(?:ERR?_[A-Z\d_]+|(?:[A-Z][A-Z\d]*_){1,9}(?:(?:NOT|TOO)_[A-Z]+|CONFLICT|DENIED|DISABLED|ERROR|EXCEEDED|EXPIRED|FAILED|FAILURE|FORBIDDEN|INCORRECT|INVALID|LOST|MALFORMED|MISMATCH|MISSING|REFUSED|REJECTED|REQUIRED|REVOKED|STALE|STATELESS|TIMEOUT|UN(?:AUTHORIZED|AVAILABLE|EXPECTED|KNOWN|REACHABLE|SUPPORTED)|WRONG))$/
/** Names of secrets that consist of ordinary words. */
const nameOfWords = /phrase|mnemonic|seed/i
/** A field that the message quotes: `JWT_EXPIRED: "exp" claim`. */
const quotedField = /^ ?(["'`])[a-z_]{1,20}\1 [a-z]{2,20}(?![\w-])/
const firstWords = /^ ?\\*["'`]?((?:[A-Za-z][A-Za-z'/-]* ){1,4}[A-Za-z][A-Za-z'/-]*)(?!\w)/

/** Whether a sentence continues behind a value. */
function goesOnAsProse(text: string, from: number): boolean {
  return functionWords.has(wordAt(text, skip(blanks, text, from)).toLowerCase())
}

const blanks = /[ \t]{0,9}/y

/** Whether a value without quotes may be the rest of its line. In other places it is a word. */
function takesLine({ before, position, text }: PlacedName, separator: string): boolean {
  if (position === 'line' || position === 'sentence' || before === ';') return true
  return separator === ':' && strongName.test(text)
}

/** Whether `name:` without a blank has no value: in a place (`session.ts:12`), a host, or an event (`auth:login`). */
function isPlace(text: string, name: PlacedName, start: number): boolean {
  const before = text.charAt(name.start - 1)
  if (/[:/\\]/.test(text.charAt(start)) || before === '/' || before === ':' || sourceFile.test(name.text)) return true
  const value = text.slice(start, start + 100)
  if (/^\d{1,5}(?![\w-])/.test(value) && !namesOfNumbers.test(name.text)) return true
  return /^[A-Za-z][A-Za-z_.-]*(?![\w-])/.test(value) && !strongName.test(name.text)
}

/** Values that secrets never have, but settings, keys of a keyboard and statements. */
const publicValue =
  /^(?:none|off|on|yes|no|null|nil|basic|bearer|digest|negotiate|ntlm|plain|oauth2?|oidc|saml|ldap|google|github|gitlab|facebook|apple|microsoft|include|omit|same-origin|optional|required|default|enabled|disabled|id|name|value|uuid|slug|aes-\d{3}-[a-z]{3}|Enter|Escape|Tab|Space|Backspace|Delete|Insert|Home|End|Page(?:Up|Down)|Arrow(?:Up|Down|Left|Right)|Shift|Control|Alt|Meta|F\d{1,2}|[a-z_-]{2,20}:\d{1,9})(?=["'`]|\s|[,;&)}\]]|$)/i
const version = /^v\d[\d.]{0,9}(?![\w-])/
const count = /^\d{1,9}(?![\w.-])/

/** Whether a value is no secret: a count (`tokens: 512`), a version (`api: v2`), a setting (`auth=none`), or its placeholder. */
function isPublic(text: string, { before, text: name }: PlacedName, start: number): boolean {
  // A parameter of the header Signature-Input (RFC 9421, section 2.3).
  if (before === ';' && name === 'keyid') return true
  const value = text.slice(start, start + lengthLimit)
  // The attribute of HTML that names a key of the keyboard.
  if (/^accesskey$/i.test(name) && /^\w\b/.test(value)) return true
  // The summary of a program of tests: `pass: 12 fail: 0`.
  if (name === 'pass' && /^\d{1,7}[ ,;]{1,3}(?:fail|skip|total)/.test(value)) return true
  if (version.test(value) || (/s$/i.test(name) && !namesOfNumbers.test(name) && count.test(value))) return true
  return !strongName.test(name.replace(/credentials?$/i, '')) && publicValue.test(value)
}

function wordAt(text: string, at: number): string {
  word.lastIndex = at
  return word.exec(text)?.[0] ?? ''
}
