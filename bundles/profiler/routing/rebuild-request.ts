import { Request } from '../../../lib/http/request.ts'
import type { ProfileSummary } from '../profile.ts'
import { splitUrl } from './split-url.ts'

/**
 * Makes a request again of what a summary says of it: method, URL and client. It has neither the other headers nor the
 * body, and of the URL what was not masked; `undefined` when what was recorded is no URL.
 */
export function rebuildRequest({
  ip,
  method,
  url,
}: Pick<ProfileSummary, 'ip' | 'method' | 'url'>): Request | undefined {
  const parts = splitUrl(url)
  if (parts === undefined) return undefined
  const { host, scheme, target } = parts
  return new Request({
    method,
    target,
    headers: host === undefined ? {} : { host },
    connection: { remoteAddress: ip, encrypted: scheme === 'https' },
  })
}
