import { HTTP_HOST_CONFLICT, HTTP_HOST_INVALID, HTTP_HOST_REPEATED } from './errors.ts'
import type { Headers } from './headers.ts'
import { type Host, parseHost } from './host.ts'
import type { Authority } from './target.ts'

/**
 * Finds the host that a client has asked: what a trusted proxy says, else the target's, else that of the Host header.
 *
 * @throws HTTP_HOST_INVALID HTTP_HOST_REPEATED HTTP_HOST_CONFLICT (all 400)
 */
export function readHost(
  headers: Headers,
  forwarded: string | undefined,
  authority: Authority | undefined,
): Host | undefined {
  const sent = headers.getAll('host')
  if (sent.length > 1) throw new HTTP_HOST_REPEATED([])
  if (authority !== undefined) checkAuthority(authority, sent[0])
  const value = forwarded ?? authority?.host ?? sent[0]
  return value === undefined ? undefined : checkHost(value)
}

/** Both must be the same (RFC 9112, section 3.2). A difference may be an attempt to mislead a proxy or a cache. */
function checkAuthority({ defaultPort, host }: Authority, header = host): void {
  const [one, other] = [checkHost(host), checkHost(header)]
  const isSame = one.name === other.name && (one.port ?? defaultPort) === (other.port ?? defaultPort)
  if (!isSame) throw new HTTP_HOST_CONFLICT([host, header])
}

function checkHost(value: string): Host {
  const host = parseHost(value)
  if (host === undefined) throw new HTTP_HOST_INVALID([value])
  return host
}
