import Negotiator from 'negotiator'
import type { Headers } from './headers.ts'

/**
 * The media type of `available` that the client prefers by its Accept header (RFC 9110, section 12.5.1): the first one
 * when there is no header or several are equally welcome, `undefined` when none is acceptable.
 */
export function preferredMediaType<type extends string>(
  headers: Headers,
  available: readonly type[],
): type | undefined {
  const accept = headers.get('accept')
  if (accept === null) return available[0]
  // It gives back one of what it was given.
  return new Negotiator({ headers: { accept } }).mediaType(available) as type | undefined
}
