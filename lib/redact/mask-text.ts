import { maskElements } from './mask-markup.ts'
import { maskPairs, placesOf } from './mask-pairs.ts'
import { maskColumns } from './mask-tables.ts'
import { isFact } from './prose.ts'
import { findWords, firstBits, maskForms, userinfoBit } from './secret-forms.ts'
import { isSecretBeside, isSecretName, mask, type NameTest, secretVariables } from './secret-names.ts'

const depthLimit = 3
const passLimit = 8

/**
 * Masks the secrets that the form of a text shows. One pass takes these steps:
 *
 * 1. tokens of known providers, JWTs and PEM blocks;
 * 2. texts with escapes, such as JSON in JSON;
 * 3. only where a part of a secret name occurs: elements of XML, encoded values of queries, columns of SQL, and values
 *    behind a separator (queries, forms, headers, JSON, `util.inspect`, YAML, assignments);
 * 4. the forms of `secret-forms.ts`, authorization schemes, userinfo of URLs.
 *
 * Passes repeat until one changes nothing. Takes linear time. Masking a masked text changes nothing.
 */
export function maskText(text: string, isSecret: NameTest = isSecretName): string {
  let masked = maskOnce(text, isSecret, depthLimit)
  // A value that one step has masked may complete the form that another step looks for.
  for (let pass = 0, before = text; masked !== before && pass < passLimit; pass++) {
    before = masked
    masked = maskOnce(masked, isSecret, depthLimit)
  }
  return masked
}

/** Removes the colours of a terminal, and other CSI sequences (ECMA-48): they hide where a name and its value begin. */
export function stripColors(text: string): string {
  return text.includes(escapeCharacter) || text.includes('\u009b') ? text.replace(controlSequences, '') : text
}

const escapeCharacter = '\u001b'
const controlSequences = new RegExp(`(?:${escapeCharacter}\\[|\u009b)[\\d;:?]{0,40}[A-Za-z]`, 'g')

function maskOnce(given: string, isSecret: NameTest, depth: number): string {
  const text = stripColors(given)
  if (text !== given) {
    const masked = maskOnce(text, isSecret, depth)
    return masked === text ? given : masked
  }
  const places: number[] = []
  const found = findWords(text, places)
  if (found === 0) return text
  const hasName = (found & 1) !== 0
  let masked = maskLiterals(maskColumns(text, isSecret, places), isSecret, depth)
  masked = maskForms(masked, isSecret, found & firstBits)
  const variables = new Set(hasName ? secretVariables(text, isSecret).flatMap(name => [name, `$${name}`]) : [])
  const isNamed = variables.size > 0 ? (name: string) => variables.has(name) || isSecret(name) : isSecret
  if (hasName) {
    if (masked.includes('<')) masked = maskElements(masked, isSecret)
    masked = maskEncoded(masked, isSecret, depth)
    masked = maskInserts(masked, isSecret)
    const named = masked === text ? places : undefined
    masked = maskPairs(masked, isNamed, variables.size === 0 ? named : placesOf(masked, variables))
  } else if (masked.includes('+')) masked = maskEncoded(masked, isSecret, depth)
  return maskForms(masked, isNamed, found & ~firstBits)
}

/**
 * Decodes values of queries, masks them and encodes them again:
 * `?filter=%7B%22password%22%3A%22x%22%7D`, `?next=%252Fcb…`.
 */
function maskEncoded(text: string, isSecret: NameTest, depth: number): string {
  if (depth === 0) return text
  return text.replace(/=([^\s&#"'<>`=]*[%+][^\s&#"'<>`]*)/g, (pair, value: string) => {
    const decoded = decodePart(value)
    const masked = decoded === value ? value : maskOnce(decoded, isSecret, depth - 1)
    return masked === decoded ? pair : `=${encodeURIComponent(masked.toWellFormed())}`
  })
}

const literal = /(?<!\\)(["'])(?:(?!\1)[^\\]|\\[\s\S])*\1/g
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * Masks the texts that JSON and `util.inspect` have written with escapes, such as a log line:
 * `{"message":"a \"b\"\nc"}`.
 */
function maskLiterals(text: string, isSecret: NameTest, depth: number): string {
  if (depth === 0 || !text.includes('\\')) return text
  const masked = text.replace(literal, (quoted: string, quote: string) => {
    const content = quoted.includes('\\') ? readEscapes(quoted.slice(1, -1)) : ''
    const masked = maskOnce(content, isSecret, depth - 1)
    if (masked === content) return quoted
    const escaped = JSON.stringify(masked).slice(1, -1)
    return quote + (quote === '"' ? escaped : escaped.replaceAll('\\"', '"').replaceAll("'", "\\'")) + quote
  })
  // Escapes in the name of a value: `{"p\u0061ssword":"x"}`.
  const plain = masked.replace(/(?<!\\)\\u00[4-7][\da-f]/gi, readEscapes)
  return plain !== masked && maskOnce(plain, isSecret, 0) !== plain ? plain : masked
}

function readEscapes(text: string): string {
  return text.replace(
    /\\(?:(?:u|x(?=[\da-f]{2}))((?<=u)[\da-f]{4}|(?<=x)[\da-f]{2})|([\s\S]))/gi,
    (_, code?: string, character = '') =>
      code === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** A value of a row with the mark before it: a comma, or the bracket of a row. */
const cell = new RegExp(
  String.raw`(?<mark>\)\s{0,9},\s{0,9}\(|[(,])(?<before>\s{0,9}(?:[EN](?=["'\x60]))?)` +
    String.raw`(?:(?<quote>["'\x60])(?<text>(?:\\[\s\S]|(?!\k<quote>)[^\\]|\k<quote>\k<quote>)*)\k<quote>?|` +
    String.raw`(?<plain>[^,()\r\n"'\x60]*(?:\([^()\r\n]*\))?))\s{0,9}`,
  'gi',
)
const insert = new RegExp(
  String.raw`(\binto\s{1,9}[\w."\x60[\]]{1,128}\s{0,9}\(([^()]{1,2000})\)\s{0,9}values?\s{0,9}(?=\())((?:${cell.source})+)`,
  'gi',
)
/** Values that are placeholders. */
const placeholder = /^(?:\$\d{1,3}|\?|%s|[:@][A-Za-z_]\w{0,60}|NULL|DEFAULT)?\s{0,9}$/i

/** Masks the values for columns with secret names: `INSERT INTO users (name, password) VALUES ('ada', 'x')`. */
function maskInserts(text: string, isSecret: NameTest): string {
  return text.replace(insert, (all, head: string, columns: string, rows: string) => {
    const isMasked = columns.split(',').map(column => isSecret(column.replace(/[\s"'`[\]]/g, '')))
    let column = 0
    if (!isMasked.includes(true)) return all
    return (
      head +
      rows.replace(cell, (found, ...more) => {
        const { before, mark, plain, quote = '', text } = more.at(-1)
        column = mark === ',' ? column + 1 : 0
        return !isMasked[column] || placeholder.test(text ?? plain) ? found : `${mark}${before}${quote}${mask}${quote}`
      })
    )
  })
}

/** Whether a whole text is a URL with a query or a fragment. */
export function isUrl(text: string): boolean {
  return /^(?:[a-z][a-z\d+.-]{0,30}:\/\/|\/|\?)/i.test(text) && /[?#]/.test(text) && !/\s/.test(text)
}

/**
 * Masks a URL pair by pair, each decoded. A value under a secret name becomes the mask; `maskValue`
 * masks all other values, and the part before the query. Parts without a secret stay as they are.
 */
export function maskUrl(given: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  // A password may contain the marks of a query and of a fragment.
  const url = maskForms(given, isSecret, findWords(given) & userinfoBit)
  const end = url.search(/[?#]/)
  const rest = url.slice(end)
  const at = rest.search(/#|$/)
  const parts = [rest.slice(0, at), rest.slice(at)].map(part => maskQuery(part, isSecret, maskValue))
  return maskValue(url.slice(0, end)) + parts.join('')
}

function maskQuery(query: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const pairs = query
    .slice(1)
    .split('&')
    .map(pair => [pair.slice(0, pair.search(/=|$/)), pair.slice(pair.search(/=|$/))])
  const all = new Map(pairs.map(([name = '', value = '']) => [decodePart(name), decodePart(value.slice(1))]))
  const maskPart = (part: string) => {
    const decoded = decodePart(part)
    const masked = maskValue(decoded)
    return masked === decoded ? part : encodeURIComponent(masked.toWellFormed())
  }
  const masked = pairs.map(([name = '', value = '']) => {
    const plain = decodePart(name)
    const isNamed = value.length > 1 && (isSecret(plain) || isSecretBeside(plain, all, isSecret))
    const shown = isNamed && !isFact(plain, value.slice(1)) ? mask : maskPart(value.slice(1))
    return `${maskPart(name)}${value.slice(0, 1)}${shown}`
  })
  return query.slice(0, 1) + masked.join('&')
}

/** Decodes a part of a query; a malformed one stays as it is. */
export function decodePart(part: string, text = part.replaceAll('+', ' ')): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Masks the secrets in a source text: each literal after a name that ends with "password" or "secret"; literals
 * that look random after another secret name (`const apiKey = '…'`, `env.TOKEN ?? '…'`, `set('x-api-key', '…')`);
 * tokens of known providers, secrets of URLs, and random values of pairs (`token=…`). Other words stay, because
 * an excerpt is the reader's own code. So do the paths of routes, `route('reset_password', '/reset-password')`. A
 * literal whose end is missing is masked to the end of its line. Takes linear time.
 */
export function maskSource(source: string, isSecret: NameTest = isSecretName): string {
  const named = source.replace(
    literalWithName,
    (found, name: string, between: string, quote: string, value: string, end: string) => {
      const isOpen = value === '' || (between.includes(',') && isPath(value))
      return !isOpen && (isPassword.test(name) || looksRandom(value)) && isSecret(name)
        ? `${name}${between}${quote}${mask}${end}`
        : found
    },
  )
  const queried = named.replace(pair, (found, name: string, value: string, offset: number) => {
    const isInQuery = /[?&]/.test(named[offset - 1] ?? '') && !value.startsWith('$')
    return (isInQuery || looksRandom(value)) && isSecret(name) ? `${name}=${mask}` : found
  })
  return maskForms(queried, isSecret, findWords(queried) & (firstBits | userinfoBit))
}

/** A name, an optional type, an operator and a literal. Every repetition is bounded, so that no line takes long. */
const literalWithName =
  /(?<![\w$-])([\w$-]{1,100})(["'`]?[)\]]?\s{0,9}(?::\s{0,9}[\w<>[\]| ]{1,40})?(?:[:=]|[=!]==?|\?\?=?|\|\|=?|(?<=["'`]),)\s{0,9})(["'`])((?:\\.|(?!\3)[^\\\r\n])*)(\3|$)/gm

/** A segment of a path: words in lower case, or a parameter such as `:id` or `{id}`. */
const pathSegment = /^(?:[:*]?[a-z]{1,20}\d{0,2}(?:[-_.][a-z]{1,20}\d{0,2}){0,9}|\{\w{1,30}\})?$/

function isPath(text: string): boolean {
  return text.startsWith('/') && text.split('/').every(segment => pathSegment.test(segment))
}

const isPassword = /(?:pass(?:word|wd|phrase)|pwd|secret)$/i

/** A pair in a query or a sentence. A blank or a bracket ends the value. */
const pair = /(?<![\w.%[\]$-])([\w.%[\]-]{1,100})=([^\s&#"'`<>(){};,]+)/g

/** Public words with digits: algorithms, encodings, versions. */
const knownWord =
  /^(?:sha-?\d+|md5|utf-?\d+|base\d+|aes\b.*|[hrep]s\d+|es\d+|ed\d+|p-?\d+|x\d+|oauth\d?|http\/?\d.*|v\d.*|iso-?\d.*|i18n|id_ed25519)$/i
const shortest = 6

/**
 * Masks the parts of links that look random, behind their host. A link in a mail may be all that its user needs to
 * log in, whatever its path is. Markup is read as other text.
 */
export function maskLinks(text: string): string {
  return text.replace(link, (_, host: string, rest: string) => {
    return host + rest.replace(/[^/?#&=;,]+/g, part => (looksRandom(decodePart(part)) ? mask : part))
  })
}

const link = /(\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`/?#]{1,300})([/?#][^\s"'<>`]+)/gi

/** Digits among letters, or many capital letters within a word. Ordinary words have neither. */
export function looksRandom(text: string): boolean {
  if (text.length < shortest || text.includes('${')) return false
  return text.split(/[\s/.:,;_-]+/).some(part => part !== '' && !knownWord.test(part) && isMixed(part))
}

function isMixed(part: string): boolean {
  const hasDigits = /\d/.test(part) && /\p{L}/u.test(part)
  const humps = part.match(/[a-z][A-Z]|[A-Z]{2}[a-z]/g)?.length ?? 0
  const hasMarks = /\p{L}[!$%^&*#+~]+\p{L}/u.test(part)
  return (
    hasMarks ||
    (hasDigits && part.length >= 4) ||
    (part.length >= 20 && humps > part.length / 6) ||
    /^\d{6,}$/.test(part)
  )
}
