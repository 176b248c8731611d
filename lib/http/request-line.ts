import { HTTP_TARGET_INVALID, HTTP_TARGET_TOO_LONG } from './errors.ts'

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
export interface Authority {
  /** A host, not yet checked, with or without a port. */
  readonly host: string
  /** The default port of the scheme. */
  readonly defaultPort: number
}

/** RFC 9112, section 3, demands at least 8,000 octets. */
const lengthLimit = 8192

/**
 * Parses a request target (RFC 9112, section 3.2): origin form, absolute form and, for OPTIONS, the asterisk. `new URL` is
 * not used because it lets `//evil` change the host.
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
export const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Methods that are refused with 405: TRACE would reflect credentials, CONNECT is for proxies. */
export const refusedMethods = ['TRACE', 'CONNECT'] as const
