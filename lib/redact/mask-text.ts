import { maskSchemes, maskTokens, maskUserinfo, mayHaveCredential } from './mask-credentials.ts'
import { maskElements } from './mask-markup.ts'
import { maskPairs } from './mask-pairs.ts'
import { decodePart } from './mask-url.ts'
import { maskForms } from './secret-forms.ts'
import { isSecretName, mask, mayHaveSecretName, type NameTest } from './secret-names.ts'

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

/** Whether a text may contain a secret. Most texts have none, and this test is ten times faster than masking. */
export function mayHaveSecret(text: string): boolean {
  return mayHaveSecretName(text) || mayHaveCredential(text)
}

function maskOnce(text: string, isSecret: NameTest, depth: number): string {
  const hasName = mayHaveSecretName(text)
  if (!hasName && !mayHaveCredential(text)) return text
  let masked = maskTokens(maskLiterals(text, isSecret, depth))
  if (hasName) {
    if (masked.includes('<')) masked = maskElements(masked, isSecret)
    masked = maskEncoded(masked, isSecret, depth)
    if (/into\s/i.test(masked)) masked = maskInserts(masked, isSecret)
    masked = maskPairs(masked, isSecret)
  } else if (masked.includes('+')) masked = maskEncoded(masked, isSecret, depth)
  return maskUserinfo(maskSchemes(maskForms(masked, isSecret)))
}

/** Decodes values of queries, masks them and encodes them again: `?filter=%7B%22password%22%3A%22x%22%7D`, `?next=%252Fcb…`. */
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

/** Masks the texts that JSON and `util.inspect` have written with escapes, such as a log line: `{"message":"a \"b\"\nc"}`. */
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
  return text.replace(/\\(?:u([\da-f]{4})|([\s\S]))/gi, (_, code?: string, character = '') =>
    code === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}

const insert = /\binto\s{1,9}[\w."`[\]]{1,128}\s{0,9}\(([^()]{1,2000})\)\s{0,9}values?\s{0,9}(?=\()/gi
/** A value of a row with the mark before it: a comma, or the bracket of a row. */
const cell =
  /(\)\s{0,9},\s{0,9}\(|[(,])(\s{0,9}(?:[EN](?=["'`]))?)(?:((["'`])(?:\\[\s\S]|(?!\4)[^\\]|\4\4)*)\4?|([^,()\r\n"'`]*(?:\([^()\r\n]*\))?))\s{0,9}/iy
/** Values that are placeholders, or empty texts. */
const placeholder = /^(?:\$\d{1,3}|\?|%s|[:@][A-Za-z_]\w{0,60}|NULL|DEFAULT|["'`]?)\s{0,9}$/i

/** Masks the values for columns with secret names: `INSERT INTO users (name, password) VALUES ('ada', 'x')`. */
function maskInserts(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const { 0: head, 1: columns = '', index } of text.matchAll(insert)) {
    const isMasked = columns.split(',').map(column => isSecret(column.replace(/[\s"'`[\]]/g, '')))
    if (index < done || !isMasked.includes(true)) continue
    cell.lastIndex = index + head.length
    let column = 0
    for (let found = cell.exec(text); found !== null; found = cell.exec(text)) {
      const [, mark = '', before = '', quoted, quote = '', plain = ''] = found
      column = mark === ',' ? column + 1 : 0
      if (!isMasked[column] || placeholder.test(quoted ?? plain)) continue
      const start = found.index + mark.length + before.length + quote.length
      masked += text.slice(done, start) + mask
      done = start + (quoted ?? plain).length - quote.length
    }
  }
  return masked + text.slice(done)
}
