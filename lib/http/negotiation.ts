import Negotiator from 'negotiator'
import type { Headers } from './headers.ts'

/** A content coding that we can make (RFC 9110, section 8.4.1): Brotli, or gzip. */
export type Coding = 'br' | 'gzip'

/**
 * The media type of `available` that the client prefers by its Accept header (RFC 9110, section 12.5.1), `undefined` when
 * none is acceptable. Without a header it is the first one. Among types of equal quality, where the RFC leaves the choice to
 * the server, it is the type that the client names most exactly, then the one that it names first, then the first of
 * `available`. So JSON is preferred to HTML by a client that accepts JSON and, equally, everything.
 */
export function preferredMediaType<type extends string>(
  headers: Headers,
  available: readonly type[],
): type | undefined {
  const accept = headers.get('accept')
  if (accept === null) return available[0]
  // It gives back one of what it was given.
  const negotiate = () => new Negotiator({ headers: { accept } }).mediaType(available) as type | undefined
  return recall(accept, available, negotiate)
}

/**
 * The coding of `available` that the client prefers by its Accept-Encoding header (RFC 9110, section 12.5.3): the first
 * one when several are equally welcome, `undefined` when the body is to be sent as it is.
 */
export function preferredCoding(headers: Headers, available: readonly Coding[]): Coding | undefined {
  const accept = headers.get('accept-encoding')
  if (accept === null || accept === 'identity') return undefined
  return recall(accept, available, () => negotiateCoding(accept, available))
}

function negotiateCoding(accept: string, available: readonly Coding[]): Coding | undefined {
  // Their types leave out what decides between equals.
  const negotiator: { encodings(available: string[], options: { preferred: string[] }): string[] } = new Negotiator({
    headers: { 'accept-encoding': accept },
  })
  const codings = [...available, 'identity']
  const [best] = negotiator.encodings(codings, { preferred: codings })
  return best === 'identity' ? undefined : (best as Coding | undefined)
}

/** Longer ones are rare, and must not fill the memory. */
const lengthLimit = 256
const countLimit = 100

const answers = new WeakMap<readonly unknown[], Map<string, unknown>>()

/** Most clients say what another has said before: what came of it is remembered, as to find it out costs 5 µs and more. */
function recall<result>(accept: string, available: readonly unknown[], negotiate: () => result): result {
  const known = answers.get(available) ?? new Map<string, unknown>()
  // Nobody else writes what is kept for a list.
  if (known.has(accept)) return known.get(accept) as result
  const result = negotiate()
  if (accept.length > lengthLimit) return result
  if (known.size === countLimit) known.clear()
  answers.set(available, known.set(accept, result))
  return result
}
