import { findQuoteEnd, quoteAt } from './find-end.ts'
import { maskOptions, maskSchemes, maskTokens, maskUserinfo, mayHaveCredential } from './mask-credentials.ts'
import { maskPairs } from './mask-pairs.ts'
import { maskRows } from './mask-rows.ts'
import { isSecretCode, isSecretName, mask, mayHaveSecretName, type NameTest } from './secret-names.ts'

const depthLimit = 3
const passLimit = 8

/**
 * Masks the secrets that the form of a text shows. One pass takes these steps:
 *
 * 1. tokens of known providers, JWTs and PEM blocks; values of rows in messages of databases;
 * 2. the `code` of OAuth;
 * 3. only where a part of a secret name occurs: elements of XML, encoded values of queries, columns of SQL, and values
 *    behind a separator (queries, forms, headers, JSON, `util.inspect`, YAML, assignments);
 * 4. passwords without a separator (`password "x"`), authorization schemes, options of commands, userinfo of URLs.
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
  let masked = maskRows(maskTokens(text), isSecret)
  masked = maskCodes(masked)
  if (hasName) {
    if (masked.includes('<')) masked = maskElements(masked, isSecret)
    masked = maskEncoded(masked, isSecret, depth)
    masked = maskInserts(masked, isSecret)
    masked = maskPairs(masked, isSecret)
  } else if (masked.includes('+')) masked = maskEncoded(masked, isSecret, depth)
  masked = maskBarePasswords(masked)
  masked = maskSchemes(masked)
  masked = maskOptions(masked)
  return maskUserinfo(masked)
}

/** Decodes values of queries, masks them and encodes them again: `?filter=%7B%22password%22%3A%22x%22%7D`, `?next=%252Fcb…`. */
function maskEncoded(text: string, isSecret: NameTest, depth: number): string {
  if (depth === 0) return text
  return text.replace(/=([^\s&#"'<>`=]*[%+][^\s&#"'<>`]*)/g, (pair, value: string) => {
    const decoded = decode(value)
    const masked = decoded === value ? value : maskOnce(decoded, isSecret, depth - 1)
    return masked === decoded ? pair : `=${encodeURIComponent(masked.toWellFormed())}`
  })
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}

/** Characters before and after a `code` in which the names of its query are looked for. */
const codeReach = 500

function maskCodes(text: string): string {
  if (!text.includes('code=')) return text
  return text.replace(/(?<=[?&]code=)[^&#\s"'<>`]+/g, (code, at: number) => {
    const before = text.slice(Math.max(0, at - codeReach), at)
    const after = text.slice(at, at + code.length + codeReach)
    const query = before.slice(before.search(/\S*$/)) + after.slice(0, after.search(/\s|$/))
    const names = new Set(Array.from(query.matchAll(/[?&]([^=&?]*)=/g), ([, name]) => String(name)))
    return isSecretCode('code', names) ? mask : code
  })
}

/** Masks passwords without a separator: `password "x"`, `IDENTIFIED BY 'x'`, `--password x`, `the password is hunter2`. */
function maskBarePasswords(text: string): string {
  return text
    .replace(
      /(\b(?:pass(?:word|wd|phrase|code)|identified by)\s{1,9}(?:is |was |to )?)(["'])((?:(?!\2)[^\\\r\n]|\\.)+)\2/gi,
      `$1$2${mask}$2`,
    )
    .replace(
      /((?:^|\s)--[\w-]{0,40}(?:passw|passphrase|secret|token|key|pwd|auth)[\w-]{0,40}\s{1,9})(?![-\s])[^\s"']+/gi,
      `$1${mask}`,
    )
    .replace(
      /(\b(?:pass(?:word|wd|phrase|code)|api[ _-]?key|secret|token|pin) (?:is|was) )(?=[^\s]*\d)(?![\d.,]+(?:\s|$))(?!(?:sha|md|base|utf|v|aes|hs|rs|es)-?\d)([^\s"']{4,})/gi,
      `$1${mask}`,
    )
}

const openTag = /<([A-Za-z_][\w.:-]{0,100})(\s[^<>]{0,300})?>/g
const namingAttribute = /\s(?:name|key|id|property)\s?=\s?["']?([^\s"'>]{1,100})/gi
/** Characters of content in which the end tag is looked for. */
const contentLimit = 2000

/** Masks the content of elements with secret names: `<password>x</password>`, `<param name="apiKey">x</param>`. */
function maskElements(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const { 0: tag, 1: name = '', 2: attributes = '', index } of text.matchAll(openTag)) {
    const start = index + tag.length
    if (index < done || !(isSecret(name) || namesOf(attributes).some(isSecret))) continue
    const end = findContentEnd(text, name, start)
    if (text.slice(start, end).trim() === '') continue
    masked += text.slice(done, start) + mask
    done = end
  }
  return masked + text.slice(done)
}

function namesOf(attributes: string): string[] {
  return Array.from(attributes.matchAll(namingAttribute), ([, name = '']) => name)
}

/** Without a tag behind it, there is no content: `Usage: login <password>`. */
function findContentEnd(text: string, name: string, start: number): number {
  const close = text.slice(start, start + contentLimit).indexOf(`</${name}`)
  if (close !== -1) return start + close
  const next = text.indexOf('<', start)
  return text.charAt(next + 1) === '/' ? next : start
}

const insert = /\binto\s{1,9}[\w."`[\]]{1,128}\s{0,9}\(([^()]{1,2000})\)\s{0,9}values?\s{0,9}(?=\()/gi
const tupleGap = /\s{0,9},\s{0,9}(?=\()/y

/** Masks the values for columns with secret names: `INSERT INTO users (name, password) VALUES ('ada', 'x')`. */
function maskInserts(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const match of text.matchAll(insert)) {
    const columns = String(match[1])
      .split(',')
      .map(column => isSecret(column.replace(/[\s"'`[\]]/g, '')))
    if (match.index < done || !columns.includes(true)) continue
    let at = match.index + match[0].length
    do {
      for (const { end, index, start } of readTuple(text, at + 1)) {
        if (columns[index] && start < end) {
          masked += text.slice(done, start) + mask
          done = end
        }
        at = end
      }
      at = skipTupleEnd(text, at)
    } while (text.charAt(at) === '(')
  }
  return masked + text.slice(done)
}

/** Yields the values of a tuple, without their quotes. */
function* readTuple(text: string, from: number): Generator<{ index: number; start: number; end: number }> {
  let at = from
  let index = 0
  do {
    while (/\s/.test(text.charAt(at))) at++
    if (/[EN]/i.test(text.charAt(at)) && quoteAt(text, at + 1) !== '') at++
    const quote = quoteAt(text, at)
    const start = at + quote.length
    const end = quote === '' ? findPlainEnd(text, at) : findQuoteEnd(text, start, quote)
    yield { index: index++, start, end }
    at = findPlainEnd(text, end + quote.length) + 1
  } while (text.charAt(at - 1) === ',')
}

function findPlainEnd(text: string, from: number): number {
  return from + text.slice(from).search(/[,)\r\n]|$/)
}

function skipTupleEnd(text: string, from: number): number {
  const close = findPlainEnd(text, quoteAt(text, from) === '' ? from : from + 1)
  tupleGap.lastIndex = close + 1
  return text.charAt(close) === ')' && tupleGap.test(text) ? tupleGap.lastIndex : text.length
}
