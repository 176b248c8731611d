import { HTTP_HOST_CONFLICT, HTTP_HOST_INVALID, HTTP_HOST_REPEATED } from './errors.ts'
import type { Headers } from './headers.ts'
import type { Authority } from './request-line.ts'

/** The host of a Host header or of a setting. */
export interface Host {
  /** In lower case, without a port and without a final dot. An IPv6 address has its brackets. */
  readonly name: string
  /** Absent if the text has none. */
  readonly port?: number
}

const grammar = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?$/

/** Whether a list of hosts contains a name. `*.example.org` contains the subdomains of `example.org`. */
export function includesHost(hosts: readonly string[], name: string): boolean {
  return hosts.some(host =>
    host.startsWith('*.') ? name.endsWith(host.slice(1)) && name.length > host.length - 1 : name === host,
  )
}

/** The last parsed host: nearly all requests have the same one. */
let last: { readonly value: string; readonly host: Host | undefined } = { value: '', host: undefined }

/** Parses a Host header (RFC 9110, section 7.2); `undefined` if it is malformed. */
export function parseHost(value: string): Host | undefined {
  if (value !== last.value) last = { value, host: toHost(value) }
  return last.host
}

function toHost(value: string): Host | undefined {
  if (value.length > 255) return undefined
  const [, name, port] = grammar.exec(value.toLowerCase()) ?? []
  if (name === undefined || Number(port) > 65_535) return undefined
  const host = name.endsWith('.') ? name.slice(0, -1) : name
  return port ? { name: host, port: Number(port) } : { name: host }
}

/**
 * Finds the host of a request: that of a trusted proxy, else that of the target, else that of the Host header.
 *
 * @throws HTTP_HOST_INVALID HTTP_HOST_REPEATED HTTP_HOST_CONFLICT (all 400)
 */
export function readHost(
  headers: Headers,
  forwarded: string | undefined,
  authority: Authority | undefined,
): Host | undefined {
  const sent = headers.get('host') ?? undefined
  // Several values are joined by a comma, which no host contains.
  if (sent?.includes(',') && headers.getAll('host').length > 1) throw new HTTP_HOST_REPEATED([])
  if (authority !== undefined) checkAuthority(authority, sent)
  const value = forwarded ?? authority?.host ?? sent
  return value === undefined ? undefined : checkHost(value)
}

/** Target and Host header must have the same host (RFC 9112, section 3.2). A difference can mislead a proxy or a cache. */
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
