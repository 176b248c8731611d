import { skip } from './find-end.ts'

/** A name before a separator, and its place. */
export interface PlacedName {
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
export function readName(text: string, from: number, to: number): PlacedName | undefined {
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
export function isProse(text: string, name: PlacedName, start: number): boolean {
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
export function isNameOfError({ quote, text }: PlacedName): boolean {
  return quote === '' && /^(?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)$/.test(text)
}

/** Whether a name before a separator is the end of "Unrecognized key": the names of keys follow it, not their values. */
export function isNameOfKeys(text: string, { start, text: name }: PlacedName): boolean {
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
export function isCodeOfError(text: string, { quote, text: placed }: PlacedName, from: number): boolean {
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
export function goesOnAsProse(text: string, from: number): boolean {
  return functionWords.has(wordAt(text, skip(blanks, text, from)).toLowerCase())
}

const blanks = /[ \t]{0,9}/y

/** Whether a value without quotes may be the rest of its line. In other places it is a word. */
export function takesLine({ before, position, text }: PlacedName, separator: string): boolean {
  if (position === 'line' || position === 'sentence' || before === ';') return true
  return separator === ':' && strongName.test(text)
}

/** Whether `name:` without a blank has no value: in a place (`session.ts:12`), a host, or an event (`auth:login`). */
export function isPlace(text: string, name: PlacedName, start: number): boolean {
  const before = text.charAt(name.start - 1)
  if (/[:/\\]/.test(text.charAt(start)) || before === '/' || before === ':' || sourceFile.test(name.text)) return true
  const value = text.slice(start, start + 100)
  if (/^\d{1,5}(?![\w-])/.test(value) && !namesOfNumbers.test(name.text)) return true
  return /^[A-Za-z][A-Za-z_.-]*(?![\w-])/.test(value) && !strongName.test(name.text)
}

/** Values that secrets never have, but settings, keys of a keyboard and statements. */
const publicValue =
  /^(?:none|off|on|yes|no|null|nil|basic|bearer|digest|negotiate|ntlm|plain|oauth2?|oidc|saml|ldap|google|github|gitlab|facebook|apple|microsoft|include|omit|same-origin|optional|required|default|enabled|disabled|id|name|uuid|slug|Enter|Escape|Tab|Space|Backspace|Delete|Insert|Home|End|Page(?:Up|Down)|Arrow(?:Up|Down|Left|Right)|Shift|Control|Alt|Meta|F\d{1,2}|[a-z_-]{2,20}:\d{1,9})(?=["'`]|\s|[,;&)}\]]|$)/i
const version = /^v\d[\d.]{0,9}(?![\w-])/
const count = /^\d{1,9}(?![\w.-])/

/** Whether a value is no secret: a count (`tokens: 512`), a version (`api: v2`), a setting (`auth=none`), or its placeholder. */
export function isPublic(text: string, { before, text: name }: PlacedName, start: number): boolean {
  // A parameter of the header Signature-Input (RFC 9421, section 2.3).
  if (before === ';' && name === 'keyid') return true
  const value = text.slice(start, start + lengthLimit)
  if (version.test(value) || (/s$/i.test(name) && !namesOfNumbers.test(name) && count.test(value))) return true
  return !strongName.test(name.replace(/credentials?$/i, '')) && publicValue.test(value)
}

function wordAt(text: string, at: number): string {
  word.lastIndex = at
  return word.exec(text)?.[0] ?? ''
}
