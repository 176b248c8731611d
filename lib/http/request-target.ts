import {
  HTTP_HOST_CONFLICT,
  HTTP_HOST_INVALID,
  HTTP_HOST_REPEATED,
  HTTP_TARGET_INVALID,
  HTTP_TARGET_TOO_LONG,
} from './errors.ts'
import type { Headers } from './headers.ts'

/** The parts of a request target. */
export interface Target {
  /** The path as it was sent, percent-encoded. */
  readonly rawPath: string
  /** The path, percent-decoded once. It is not normalised: dot segments and double slashes stay. */
  readonly path: string
  /** The part behind the first `?`, as it was sent. */
  readonly queryString: string
  /** Only in the absolute form. */
  readonly authority?: Authority
}

/** The host of a target in absolute form. */
interface Authority {
  /** A host, not yet checked, with or without a port. */
  readonly host: string
  /** The default port of the scheme. */
  readonly defaultPort: number
}

/** RFC 9112, section 3, demands at least 8,000 octets. */
const lengthLimit = 8192

/**
 * Parses a request target (RFC 9112, section 3.2): origin form, absolute form and, for OPTIONS,
 * the asterisk. `new URL` is not used because it lets `//evil` change the host.
 *
 * @throws HTTP_TARGET_INVALID (400) HTTP_TARGET_TOO_LONG (414)
 */
export function parseTarget(target: string, method: string): Target {
  if (target.length > lengthLimit) throw new HTTP_TARGET_TOO_LONG([target.length, lengthLimit])
  if (target === '*' && method === 'OPTIONS') return { rawPath: '*', path: '*', queryString: '' }
  if (!target.startsWith('/')) return parseAbsoluteForm(target)
  return parseOriginForm(target)
}

function parseAbsoluteForm(target: string): Target {
  const [, scheme, host, rest] = /^(https?):\/\/([^/?]+)(.*)$/is.exec(target) ?? []
  if (scheme === undefined || host === undefined || rest === undefined) {
    throw new HTTP_TARGET_INVALID(['it must begin with a slash'])
  }
  const origin = parseOriginForm(rest.startsWith('/') ? rest : `/${rest}`)
  return { ...origin, authority: { host, defaultPort: scheme.length === 5 ? 443 : 80 } }
}

function parseOriginForm(origin: string): Target {
  if (!plain.test(origin)) throw new HTTP_TARGET_INVALID(['it has a character that must be percent-encoded'])

  const question = origin.indexOf('?')
  const rawPath = question === -1 ? origin : origin.slice(0, question)
  const queryString = question === -1 ? '' : origin.slice(question + 1)
  return { rawPath, path: rawPath.includes('%') ? decodePath(rawPath) : rawPath, queryString }
}

/** ASCII without control characters, `#` and backslash (which browsers read as a slash). */
const plain = /^[\x21\x22\x24-\x5b\x5d-\x7e]+$/

function decodePath(rawPath: string): string {
  let path: string
  try {
    path = decodeURIComponent(rawPath)
  } catch {
    throw new HTTP_TARGET_INVALID(['its path has a percent sign that does not begin a UTF-8 sequence'])
  }
  if (path.includes('\0')) throw new HTTP_TARGET_INVALID(['its path has a NUL character'])
  return path
}

/** The methods of routes. */
export const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'] as const

const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS', 'QUERY']

/**
 * Whether requests with a method change no data (RFC 9110, section 9.2.1; RFC 10008). TRACE does
 * not either, but is refused.
 */
export function isSafe(method: string): boolean {
  return safeMethods.includes(method)
}

/**
 * Methods that no route has, and that are refused with 405: TRACE would reflect credentials, CONNECT is for proxies.
 */
export const refusedMethods: readonly string[] = ['TRACE', 'CONNECT']

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

/**
 * Target and Host header must have the same host (RFC 9112, section 3.2). A difference can mislead a proxy or a cache.
 */
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
