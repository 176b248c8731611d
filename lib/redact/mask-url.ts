import { maskUserinfo } from './mask-credentials.ts'
import { isSecretCode, mask, type NameTest } from './secret-names.ts'

/** Whether a whole text is a URL with a query or a fragment. */
export function isUrl(text: string): boolean {
  return /^(?:[a-z][a-z\d+.-]{0,30}:\/\/|\/|\?)/i.test(text) && /[?#]/.test(text) && !/\s/.test(text)
}

/**
 * Masks a URL pair by pair, each decoded. A value under a secret name becomes the mask; `maskValue` masks all other values,
 * and the part before the query. Parts without a secret stay as they are.
 */
export function maskUrl(given: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  // A password may contain the marks of a query and of a fragment.
  const url = maskUserinfo(given)
  const end = url.search(/[?#]/)
  const rest = url.slice(end)
  const at = rest.search(/#|$/)
  const parts = [rest.slice(0, at), rest.slice(at)].map(part => maskQuery(part, isSecret, maskValue))
  return maskValue(url.slice(0, end)) + parts.join('')
}

function maskQuery(query: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const pairs = query.slice(1).split('&')
  const names = new Set(pairs.map(pair => decodePart(pair.slice(0, pair.search(/=|$/)))))
  const isOfContext = (name: string) => isSecret(name) || isSecretCode(name, names)
  return query.slice(0, 1) + pairs.map(pair => maskPair(pair, isOfContext, maskValue)).join('&')
}

function maskPair(pair: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const at = pair.indexOf('=')
  const name = pair.slice(0, at === -1 ? pair.length : at)
  const value = pair.slice(name.length + 1)
  if (at === -1) return maskPart(name, maskValue)
  if (value !== '' && isSecret(decodePart(name))) return `${maskPart(name, maskValue)}=${mask}`
  return `${maskPart(name, maskValue)}=${maskPart(value, maskValue)}`
}

function maskPart(part: string, maskValue: (text: string) => string): string {
  const decoded = decodePart(part)
  const masked = maskValue(decoded)
  return masked === decoded ? part : encodeURIComponent(masked.toWellFormed())
}

/** Decodes a part of a query; a malformed one stays as it is. */
export function decodePart(part: string): string {
  const text = part.replaceAll('+', ' ')
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
