import { maskTokens, maskUserinfo } from './mask-credentials.ts'
import { isSecretName, mask, type NameTest } from './secret-names.ts'

/**
 * Masks the secrets in a source text: each literal after a name that ends with "password" or "secret"; literals that look
 * random after another secret name (`const apiKey = '…'`, `env.TOKEN ?? '…'`, `set('x-api-key', '…')`); tokens of known
 * providers, secrets of URLs, and random values of pairs (`token=…`). Other words stay, because an excerpt is the reader's own
 * code. So do the paths of routes, `route('reset_password', '/reset-password')`. A literal whose end is missing is masked to the end of its line. Takes linear time.
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
  return maskUserinfo(maskTokens(queried))
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

/** Digits among letters, or many capital letters within a word. Ordinary words have neither. */
function looksRandom(text: string): boolean {
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
