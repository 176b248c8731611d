import { isSecretCode, mask, type NameTest } from './secret-names.ts'

/** Whether a text is a URL and nothing else, with a query or a fragment. */
export function isUrl(text: string): boolean {
  return /^(?:[a-z][a-z\d+.-]{0,30}:\/\/|\/|\?)/i.test(text) && /[?#]/.test(text) && !/\s/.test(text)
}

/**
 * Masks a URL pair by pair, as its reader decodes them: `maskValue` is applied to each value that no name gives away, and
 * to what stands before the query. What has no secret stays as it was written.
 */
export function maskUrl(url: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const end = url.search(/[?#]/)
  const rest = url.slice(end)
  const at = rest.search(/#|$/)
  const parts = [rest.slice(0, at), rest.slice(at)].map(part => maskQuery(part, isSecret, maskValue))
  return maskValue(url.slice(0, end)) + parts.join('')
}

function maskQuery(query: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const pairs = query.slice(1).split('&')
  const names = new Set(pairs.map(pair => decode(pair.slice(0, pair.search(/=|$/)))))
  const isOfContext = (name: string) => isSecret(name) || isSecretCode(name, names)
  return query.slice(0, 1) + pairs.map(pair => maskPair(pair, isOfContext, maskValue)).join('&')
}

function maskPair(pair: string, isSecret: NameTest, maskValue: (text: string) => string): string {
  const at = pair.indexOf('=')
  const name = pair.slice(0, at === -1 ? pair.length : at)
  const value = pair.slice(name.length + 1)
  if (at === -1) return maskPart(name, maskValue)
  if (value !== '' && isSecret(decode(name))) return `${maskPart(name, maskValue)}=${mask}`
  return `${maskPart(name, maskValue)}=${maskPart(value, maskValue)}`
}

function maskPart(part: string, maskValue: (text: string) => string): string {
  const decoded = decode(part)
  const masked = maskValue(decoded)
  return masked === decoded ? part : encodeURIComponent(masked.toWellFormed())
}

function decode(part: string): string {
  const text = part.replaceAll('+', ' ')
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
