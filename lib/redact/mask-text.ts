import { mask } from './mask.ts'
import { maskOptions, maskSchemes, maskTokens, mayHaveCredential } from './mask-credentials.ts'
import { maskElements } from './mask-elements.ts'
import { maskPairs } from './mask-pairs.ts'
import { maskInserts } from './mask-statements.ts'
import { maskUserinfo } from './mask-userinfo.ts'
import { isSecretName, mayHaveSecretName, type NameTest } from './secret-names.ts'

const depthLimit = 3
const passLimit = 8

/**
 * Masks what is recognised as secret inside a text by its form: values of secret names in queries, forms, headers, JSON,
 * `util.inspect`, XML, SQL, YAML and assignments, the userinfo of URLs, credentials of authorization schemes, and tokens of
 * known providers. Takes linear time; changes nothing more when called again.
 */
export function maskText(text: string, isSecret: NameTest = isSecretName): string {
  let masked = maskWithin(text, isSecret, depthLimit)
  // What one step masks may show another what is a value. Most texts have no secret at all.
  for (let pass = 0, before = text; masked !== before && pass < passLimit; pass++) {
    before = masked
    masked = maskWithin(masked, isSecret, depthLimit)
  }
  return masked
}

/** Whether a text may contain a secret. Most texts have none, and this test is ten times faster than masking. */
export function mayHaveSecret(text: string): boolean {
  return mayHaveSecretName(text) || mayHaveCredential(text)
}

function maskWithin(text: string, isSecret: NameTest, depth: number): string {
  const hasName = mayHaveSecretName(text)
  if (!hasName && !mayHaveCredential(text)) return text
  let masked = maskCodes(maskTokens(text))
  if (hasName) {
    if (masked.includes('<')) masked = maskElements(masked, isSecret)
    masked = maskPairs(maskInserts(maskEncoded(masked, isSecret, depth), isSecret), isSecret)
  } else if (masked.includes('+')) masked = maskEncoded(masked, isSecret, depth)
  return maskUserinfo(maskOptions(maskSchemes(maskSecretQuotes(masked))))
}

/** Values of queries are masked as what they stand for: `?filter=%7B%22password%22%3A%22x%22%7D`, `?next=%252Fcb…`. */
function maskEncoded(text: string, isSecret: NameTest, depth: number): string {
  if (depth === 0) return text
  return text.replace(/=([^\s&#"'<>`=]*[%+][^\s&#"'<>`]*)/g, (pair, value: string) => {
    const decoded = decode(value)
    const masked = decoded === value ? value : maskWithin(decoded, isSecret, depth - 1)
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

const codeReach = 500

/** The `code` of OAuth is one beside the `state` of the same query. */
function maskCodes(text: string): string {
  if (!text.includes('code=')) return text
  return text.replace(/(?<=[?&]code=)[^&#\s"'<>`]+/g, (code, at: number) => {
    const before = text.slice(Math.max(0, at - codeReach), at)
    const after = text.slice(at, at + code.length + codeReach)
    const query = before.slice(before.search(/\S*$/)) + after.slice(0, after.search(/\s|$/))
    return /[?&](?:state|session_state|iss|grant_type)=/.test(query) ? mask : code
  })
}

/** `password "x"`, `IDENTIFIED BY 'x'`, `--password x`, `the password is hunter2`: without a separator. */
function maskSecretQuotes(text: string): string {
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
