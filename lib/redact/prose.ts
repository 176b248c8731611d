import { skip } from './scan.ts'

/** A name with a separator behind it, and its place. */
export interface Pair {
  readonly text: string
  /** The name alone, decoded: `token` of `/login%3Ftoken`. */
  readonly name: string
  readonly start: number
  /** The quote around the name with its backslashes, such as `\"`. Empty without quotes. */
  readonly quote: string
  /**
   * `line`: first on its line. `part`: behind a character that separates parts, such as a brace, comma
   * or `&`. `prose`: behind another word; `sentence`: behind a colon and a blank, such as `Error: `.
   */
  readonly position: 'line' | 'part' | 'prose' | 'sentence'
  /** The last character before the name that is no blank. Empty at the beginning of a line. */
  readonly before: string
  readonly separator: string
  /** The place behind the separator. */
  readonly from: number
}

/** Words that follow `password:` in a sentence or a program, but not in `password: hunter`. */
const functionWords = new Set(
  (
    'a an the is are was were be been being has have had not no none must should shall may might can cannot could would will ' +
    'does did do it its this that these those there here your our my his her their you we they i please enter expected got ' +
    'received found missing required requires unrecognized invalid expired failed unknown unsupported unexpected empty but or ' +
    'and if when while where which what how why for from in on at of to with by as into about than then only already never ' +
    'always also both either neither too very more less least unable see created updated deleted changed rotated revoked ' +
    'rejected accepted denied refused allowed mismatch wrong incorrect malformed stale optional string number boolean any ' +
    'object symbol bigint await new typeof'
  ).split(' '),
)

/** Further words of what a form says about an input. */
const adviceWords = new Set(
  (
    'valid enter e-mail email mail address password phone number date card code name field input value format character ' +
    'characters letter letters digit digits symbol long short low high match same use used choose give provide taken again'
  ).split(' '),
)

/** Whether a text has no other words than those that explain what an input must be. So no value is in it. */
export function isAdvice(text: string): boolean {
  return text
    .toLowerCase()
    .split(/[\s.,;:!()]+/)
    .every(each => each === '' || functionWords.has(each) || adviceWords.has(each) || /^\d{1,2}$/.test(each))
}

const word = /[A-Za-z]{1,40}(?:'[a-z]{1,2})?(?=[\s.,;:!?)|]|$)/y
/** Names that are followed by a secret, also within a sentence. */
export const strongName = /passw|passphrase|passcode|pwd|secret|api[_-]?key|authorization|credentials?$/i
/** Names with a number as value. Behind other names, a number is a line or a port. */
const namesOfNumbers = /pin|cvv|cvc|otp|ssn|pass|pw|secret|mfa|2fa|code/i

function wordAt(text: string, at: number): string {
  return text.slice(at, skip(word, text, at))
}

/** Whether a sentence continues behind a value. */
export function opensProse(text: string, from: number): boolean {
  return functionWords.has(wordAt(text, skip(/[ \t]{0,9}/y, text, from)).toLowerCase())
}

/** Whether the text behind `name:` and a blank is a sentence, and no value. */
export function isProse({ name, position, quote, text }: Pair, at: number): boolean {
  const next = wordAt(text, at)
  if (next === '') return false
  if (functionWords.has(next.toLowerCase())) return true
  if (strongName.test(name) || !/^[A-Z]?[a-z]+$/.test(next)) return false
  // A heading, a name within a sentence, or a class or channel with a sentence behind it.
  if (/^(?:prose|sentence)$/.test(position) || (quote === '' && /^[A-Z][a-z]+$/.test(name))) return true
  const [first = '', ...words] = text.slice(at, at + 100).split(' ', 6)
  return /^[A-Z][a-z]|\./.test(name) && /^[A-Z]/.test(first) && words.some(each => functionWords.has(each))
}

const codeOfError = new RegExp(
  '^(?:ERR?_[A-Z\\d_]+|(?:[A-Z][A-Z\\d]*_){1,9}(?:(?:NOT|TOO)_[A-Z]+|CONFLICT|DENIED|DISABLED|ERROR|EXCEEDED|EXPIRED|FAILED|' +
    'FAILURE|FORBIDDEN|INCORRECT|INVALID|LOST|MALFORMED|MISMATCH|MISSING|REFUSED|REJECTED|REQUIRED|REVOKED|STALE|STATELESS|' +
    'TIMEOUT|UN(?:AUTHORIZED|AVAILABLE|EXPECTED|KNOWN|REACHABLE|SUPPORTED)|WRONG))$',
)
/** A field that the message quotes: `JWT_EXPIRED: "exp" claim`. */
const quotedField = /^ ?(["'`])[a-z_]{1,20}\1 [a-z]{2,20}(?![\w-])/
const firstWords = /^ ?\\*["'`]?((?:[A-Za-z][A-Za-z'/-]* ){1,4}[A-Za-z][A-Za-z'/-]*)(?!\w)/

/**
 * Whether a text before a separator is no name of a value: the end of "Unrecognized key:", the name
 * of an error (`KeyError: 'name'`), or its code with its message behind it,
 * `SESSION_STORE_FAILED: "The session store failed"`. The code ends with the state that is wrong. The
 * first words of the message repeat a word of the code, or contain a word that a secret rarely has.
 */
export function isNoName({ from, name, quote, separator, start, text }: Pair): boolean {
  const keys = /\b(?:duplicate|foreign|missing|partition|public|sort|undefined|unknown|unrecognized) $/i
  if (/^keys?$/.test(name) && keys.test(text.slice(Math.max(0, start - 15), start))) return true
  if (separator !== ':' || quote !== '') return false
  if (/^(?:[a-z]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)$/.test(name)) return true
  const code = name.replace(/^\[|\]$/g, '')
  // Secrets with these names consist of ordinary words.
  if (!codeOfError.test(code) || /phrase|mnemonic|seed/i.test(code)) return false
  const begin = text.slice(from, from + 100)
  const [, message = ''] = firstWords.exec(begin) ?? []
  const words = message.toLowerCase().split(' ')
  const parts = code.toLowerCase().split('_')
  const isMessage = words.length > 1 && words.some(each => functionWords.has(each) || parts.includes(each))
  return isMessage || quotedField.test(begin)
}

const sourceFile = /\.(?:[cm]?[jt]sx?|json|ya?ml|html?|hbs|css|md|php|py|rb|go|rs|java|sql|map|vue|svelte)$/i

/** Whether `name:` without a blank has no value: in a place (`session.ts:12`), a host, or an event (`auth:login`). */
export function isPlace({ from, name, quote, start, text }: Pair, at: number): boolean {
  if (at > from || quote !== '') return false
  if (/[:/\\]/.test(text.charAt(at)) || /[:/]/.test(text.charAt(start - 1)) || sourceFile.test(name)) return true
  const value = text.slice(at, at + 100)
  if (/^\d{1,5}(?![\w-])/.test(value)) return !namesOfNumbers.test(name)
  return /^[A-Za-z][A-Za-z_.-]*(?![\w-])/.test(value) && !strongName.test(name)
}

/** Values that secrets never have, but settings, keys of a keyboard and statements. */
const publicValue = new RegExp(
  '^(?:none|off|on|yes|no|null|nil|basic|bearer|digest|negotiate|ntlm|plain|oauth2?|oidc|saml|ldap|google|github|gitlab|facebook|' +
    'apple|microsoft|include|omit|same-origin|optional|required|default|enabled|disabled|id|name|value|uuid|slug|' +
    'aes-\\d{3}-[a-z]{3}|Enter|Escape|Tab|Space|Backspace|Delete|Insert|Home|End|Page(?:Up|Down)|Arrow(?:Up|Down|Left|Right)|' +
    'Shift|Control|Alt|Meta|F\\d{1,2}|[a-z_-]{2,20}:\\d{1,9})(?=["\'`]|\\s|[,;&)}\\]]|$)',
  'i',
)

/** Whether a whole value under a secret name is none: a boolean, or a count such as `tokens: 512`. */
export function isFact(name: string, value: unknown): boolean {
  return (
    typeof value === 'boolean' || (/s$/i.test(name) && !namesOfNumbers.test(name) && /^\d{1,9}$/.test(String(value)))
  )
}

/**
 * Whether a value is no secret: a count (`tokens: 512`), a version (`api: v2`), a setting
 * (`auth=none`), or its placeholder.
 */
export function isPublic({ before, name, text }: Pair, at: number): boolean {
  // A parameter of the header Signature-Input (RFC 9421, section 2.3).
  if (before === ';' && name === 'keyid') return true
  const value = text.slice(at, at + 100)
  // The attribute of HTML that names a key of the keyboard, and the summary of a program of tests: `pass: 12 fail: 0`.
  if (/^accesskey$/i.test(name) && /^\w\b/.test(value)) return true
  if (name === 'pass' && /^\d{1,7}[ ,;]{1,3}(?:fail|skip|total)/.test(value)) return true
  if (/^v\d[\d.]{0,9}(?![\w-])/.test(value)) return true
  if (isFact(name, value.match(/^\d{1,9}(?![\w.-])/))) return true
  return !strongName.test(name.replace(/credentials?$/i, '')) && publicValue.test(value)
}
