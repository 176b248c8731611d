import { formatPeriod } from '../../profile/format.ts'

/** A cookie that the response set. Attributes that are missing are empty. */
interface ResponseCookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly domain: string
  /** `in 1 day`, `Wed, 21 Oct 2015 07:28:00 GMT`, or `with the browser's session`. */
  readonly expires: string
  /** `Secure`, `HttpOnly` and other attributes without a column, as they were written. */
  readonly flags: string
}

/** Parses a (masked) Set-Cookie field as browsers do (RFC 6265, section 5.2): no field is invalid. */
export function readSetCookie(field: string): ResponseCookie {
  const [pair = '', ...attributes] = field.split(';').map(part => part.trim())
  const [name, value] = split(pair)
  const known = new Map(attributes.map(split).map(([key, text]) => [key.toLowerCase(), text]))
  const flags = attributes.filter(attribute => !columns.has(split(attribute)[0].toLowerCase()))
  return {
    name,
    value,
    path: known.get('path') ?? '',
    domain: known.get('domain') ?? '',
    expires: expiryOf(known),
    flags: flags.join(', '),
  }
}

const columns: ReadonlySet<string> = new Set(['path', 'domain', 'max-age', 'expires'])

/** Max-Age wins over Expires. */
function expiryOf(attributes: ReadonlyMap<string, string>): string {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined) return Number(maxAge) > 0 ? `in ${formatPeriod(Number(maxAge))}` : 'at once'
  return attributes.get('expires') ?? "with the browser's session"
}

function split(text: string): [before: string, after: string] {
  const separator = text.indexOf('=')
  return separator === -1 ? [text, ''] : [text.slice(0, separator), text.slice(separator + 1)]
}
