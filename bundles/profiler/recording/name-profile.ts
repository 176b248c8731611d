import type { Headers } from '../../../lib/http/headers.ts'
import type { Request } from '../../../lib/http/request.ts'
import { recordLink } from '../links.ts'

/**
 * Names the profile of a request in the headers of its response. A response that a sub-request has made names the profile of
 * the sub-request already: that one becomes the previous profile.
 */
export function nameProfile(headers: Headers, request: Request, token: string): void {
  const previous = headers.get('x-debug-token')
  if (previous !== null) headers.set('x-previous-debug-token', previous)
  headers.set('x-debug-token', token)
  headers.set('x-debug-token-link', `${request.origin}${recordLink(token)}`)
}
