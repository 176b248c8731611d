import { BlockList, isIP } from 'node:net'
import { HTTP_FORWARDING_CONFLICT, HTTP_FORWARDING_INVALID } from './errors.ts'
import type { Headers } from './headers.ts'
import { isRequestId } from './request-id.ts'

/** The facts about a request that trusted proxies have added to it. */
export interface Forwarded {
  readonly clientIp?: string
  /** The trusted proxies between the client and the peer, the farthest first. Absent if there are none. */
  readonly proxies?: readonly string[]
  readonly scheme?: 'http' | 'https'
  /** A host, not yet checked, with or without a port. */
  readonly host?: string
  readonly port?: number
  /** The path below which the client sees the application, without a slash at its end. */
  readonly prefix?: string
  /** The id that the proxy next to this server has given to the request, if it has a safe form. */
  readonly requestId?: string
}

/** The headers that can be trusted. */
export const trustableHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-request-id',
] as const

/** A header that can be trusted. */
export type TrustableHeader = (typeof trustableHeaders)[number]

/** The headers that are trusted by default: those that most proxies write, and do not only pass on from the client. */
export const defaultTrustedHeaders: readonly TrustableHeader[] = trustableHeaders.filter(name =>
  name.startsWith('x-forwarded-'),
)

/** Names for the loopback and all private networks in a list of proxies. */
export const privateRangesNames: readonly string[] = ['private_ranges', 'PRIVATE_SUBNETS']

/** RFC 1122, 1918 and 3927; RFC 4291 and 4193. */
const privateRanges: readonly string[] = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  ...['::1', 'fe80::/10', 'fc00::/7'],
]

/** The facts of a request that came through no trusted proxy. */
export const nothingForwarded: Forwarded = Object.freeze({})

/** The trusted proxies, and the headers that are trusted in their requests. Without a proxy no header is trusted. */
export class TrustedProxies {
  /** Absent without trusted proxies: a look-up in an empty list costs more than all other reading of a request. */
  readonly #addresses: BlockList | undefined
  readonly #headers: ReadonlySet<TrustableHeader>
  /** The last peer. One proxy sends most requests, and a look-up takes microseconds. */
  #peer = { address: '', isTrusted: false }

  /**
   * An entry is an address, a subnet, or `private_ranges`.
   *
   * @throws TypeError with the first entry of another kind
   */
  constructor(entries: readonly string[] = [], headers: readonly TrustableHeader[] = defaultTrustedHeaders) {
    const addresses = entries.flatMap(entry => (privateRangesNames.includes(entry) ? privateRanges : [entry]))
    this.#addresses = addresses.length === 0 ? undefined : createAddressList(addresses)
    this.#headers = new Set(headers)
  }

  /** Whether an address belongs to a trusted proxy. */
  includes(address: string): boolean {
    return this.#addresses !== undefined && includesAddress(this.#addresses, address)
  }

  /**
   * Reads the headers of a trusted peer: `Forwarded` (RFC 7239) and `X-Forwarded-*`. The client is
   * the right-most address that is no trusted proxy. Of the other fields, the value counts that
   * the proxy next to the client has added; values to the left of it come from the client.
   *
   * @throws HTTP_FORWARDING_CONFLICT (400) when both kinds of headers have a field, and differ
   * @throws HTTP_FORWARDING_INVALID (400) for a malformed header
   */
  read(headers: Headers, peer: string): Forwarded {
    return this.#addresses === undefined || !this.#isTrustedPeer(peer) ? nothingForwarded : this.#readTrusted(headers)
  }

  #readTrusted(headers: Headers): Forwarded {
    const elements = this.#readElements(headers)
    const list = (name: TrustableHeader) => (this.#headers.has(name) ? toList(headers.get(name)) : [])

    // Where is the client among the addresses? If all are proxies, it is the farthest.
    const standard = valuesOf(elements, 'for').map(withoutPort)
    const addresses = agree('x-forwarded-for', standard, list('x-forwarded-for').map(withoutPort))
    const client = Math.max(
      addresses.findLastIndex(address => !this.includes(address)),
      0,
    )
    const clientIp = addresses[client]
    if (clientIp !== undefined && isIP(clientIp) === 0 && !unnamed.test(clientIp)) {
      throw new HTTP_FORWARDING_INVALID([standard.length > 0 ? 'forwarded' : 'x-forwarded-for', clientIp])
    }

    // Which values have proxies added behind the client?
    const trusted = elementsFrom(elements, client)
    const hops = addresses.length === 0 ? Number.POSITIVE_INFINITY : addresses.length - client
    const find = (header: TrustableHeader, all: readonly string[] = [], own?: string) => {
      const values = list(header)
      agree(header, all, values)
      return own ?? values[Math.max(values.length - hops, 0)]
    }

    const hosts = valuesOf(elements, 'host')
    const host = find('x-forwarded-host', hosts, valuesOf(trusted, 'host')[0])
    const proto = find('x-forwarded-proto', valuesOf(elements, 'proto'), valuesOf(trusted, 'proto')[0])
    const scheme = schemes.get(proto?.toLowerCase() ?? '')
    const port = find('x-forwarded-port', hosts.map(portOf(scheme)))
    const prefix = find('x-forwarded-prefix')
    const requestId = this.#headers.has('x-request-id') ? (headers.get('x-request-id') ?? '') : ''
    return {
      ...(clientIp !== undefined && isIP(clientIp) !== 0 && { clientIp }),
      ...(client < addresses.length - 1 && { proxies: addresses.slice(client + 1) }),
      ...(scheme && { scheme }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port: parsePort(port) }),
      ...(prefix !== undefined && { prefix: parsePrefix(prefix) }),
      ...(isRequestId(requestId) && { requestId }),
    }
  }

  #isTrustedPeer(peer: string): boolean {
    if (peer !== this.#peer.address) this.#peer = { address: peer, isTrusted: this.includes(peer) }
    return this.#peer.isTrusted
  }

  #readElements(headers: Headers): readonly ForwardedElement[] {
    const header = this.#headers.has('forwarded') ? headers.get('forwarded') : null
    if (header === null) return []
    const elements = parseForwarded(header)
    if (elements === undefined) throw new HTTP_FORWARDING_INVALID(['forwarded', header])
    return elements
  }
}

/**
 * Creates a list of addresses and subnets, such as `10.0.0.0/8` or `::1`.
 *
 * @throws TypeError with the first entry of another kind
 */
export function createAddressList(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits, ...rest] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (rest.length > 0 || isIP(address) === 0 || (bits !== undefined && !isPrefix(bits, family))) {
      throw new TypeError(`"${entry}" is neither an IP address nor a subnet such as 10.0.0.0/8.`)
    }
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Whether a list contains an address. IPv4 addresses may be written as IPv6 (`::ffff:127.0.0.1`). */
export function includesAddress(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function isPrefix(bits: string, family: 'ipv4' | 'ipv6'): boolean {
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 'ipv4' ? 32 : 128)
}

function toList(header: string | null): string[] {
  return (header ?? '')
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
}

/** Removes the port, which both headers allow behind an address, and the brackets of an IPv6 address. */
function withoutPort(address: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
}

/** A client that its proxy does not name (RFC 7239, section 6), or that has come to nginx by a socket of Unix. */
const unnamed = /^(?:unknown|_[\w.-]+|unix)(?::[\w.-]*)?$/i

/**
 * Returns the list of `Forwarded`, or the other one if that is empty. @throws HTTP_FORWARDING_CONFLICT if they differ
 */
function agree(header: string, standard: readonly string[], legacy: readonly string[]): readonly string[] {
  if (standard.length === 0) return legacy
  const isSame = String(standard).toLowerCase() === String(legacy).toLowerCase()
  if (legacy.length > 0 && !isSame) throw new HTTP_FORWARDING_CONFLICT([header])
  return standard
}

const schemes: ReadonlyMap<string, 'http' | 'https'> = new Map([
  ['http', 'http'],
  ...['https', 'ssl', 'on', '1'].map(word => [word, 'https'] as const),
])

/** The elements from that of the client on; all without one for the client. */
function elementsFrom(elements: readonly ForwardedElement[], client: number): readonly ForwardedElement[] {
  const own = elements.filter(element => element.has('for'))[client]
  return own === undefined ? elements : elements.slice(elements.indexOf(own))
}

function valuesOf(elements: readonly ForwardedElement[], name: string): string[] {
  return elements.flatMap(element => element.get(name) ?? [])
}

function portOf(scheme = 'http'): (host: string) => string {
  return host => /^(?:\[.*\]|[^:[]*):(\d+)$/.exec(host)?.[1] ?? (scheme === 'https' ? '443' : '80')
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new HTTP_FORWARDING_INVALID(['x-forwarded-port', text])
}

/** No second slash and no dot segment: links would lead to another host, or out of the path. */
const path = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+;=:@%-]+)*\/?$/

function parsePrefix(text: string): string {
  if (!path.test(text)) throw new HTTP_FORWARDING_INVALID(['x-forwarded-prefix', text])
  return text.endsWith('/') ? text.slice(0, -1) : text
}

/** The part of one proxy in a `Forwarded` header: its parameters, with names in lower case. */
type ForwardedElement = ReadonlyMap<string, string>

/** One `name=value` with its end. A value with a colon needs no quotes here, because many proxies omit them. */
const pair = /(?:[\t ]*([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\t ",;]+))?[\t ]*([,;]|$)/gy

/** Parses a `Forwarded` header (RFC 7239, section 4), the farthest proxy first; `undefined` if it is malformed. */
function parseForwarded(header: string): readonly ForwardedElement[] | undefined {
  const elements = [new Map<string, string>()]
  let end = 0
  for (const [all, name, value = '', separator] of header.matchAll(pair)) {
    end += all.length
    const element = elements.at(-1)
    const key = name?.toLowerCase()
    if (key !== undefined && element?.has(key)) return undefined
    if (key !== undefined) element?.set(key, unquote(value))
    if (separator === ',') elements.push(new Map())
  }
  return end === header.length ? elements : undefined
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
}

/** Header fields that describe how a request was forwarded, whatever the vendor of the proxy. */
export const forwardingHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
  'via',
] as const

/** The names of fields with the address of one client. */
const addressHeaders: readonly string[] = [
  '(?:.*-)?real-ip',
  '(?:.*-)?client-?ip',
  '.*-(?:connecting|user)-ip(?:v6)?',
  'x-orig(?:in|inating)?-ip',
  'x-(?:host|peer|source)-ip',
  'x-remote-(?:ip|addr)',
  'x-ms-.*-ip',
  'x-envoy-external-address',
]

/**
 * Matches the names of header fields that proxies, load balancers, tunnels and content delivery networks
 * add, and browsers, curl and scripts of a page do not: the forwarding headers, and those of each vendor.
 */
const proxyHeader = toPattern([
  ...forwardingHeaders,
  ...addressHeaders,
  'cdn-loop',
  'forwarded',
  'forwarded-.*',
  'x-forwarded.*',
  'x-forward-.*',
  'x-original-.*',
  'x-rewrite-url',
  '(?:.*-)?real-port',
  'x-(?:proxied|coming)-(?:for|from)',
  'x-(?:request|queue)-start',
  'x-bluecoat-.*',
  'x-(?:url-)?scheme',
  'front-end-https',
  'x-proxy(?:user)?-.*',
  'x-.*-forwarded-for',
  'cf-.*',
  'cloudfront-.*',
  'fastly-.*',
  'fly-.*',
  'akamai-.*',
  'x-akamai-.*',
  'x-amz-cf-.*',
  'x-amzn-(?:trace-id|tls-.*|oidc-.*|mtls-.*)',
  'x-appengine-.*',
  'x-cloud-trace-context',
  'x-google-.*',
  'x-goog-iap-.*',
  'x-azure-.*',
  'x-arr-.*',
  'x-envoy-.*',
  'x-nginx-.*',
  'x-varnish',
  'x-vercel-.*',
  'x-nf-.*',
  'x-ngrok-.*',
  'ngrok-.*',
  'x-heroku-.*',
  'x-render-.*',
  'x-railway-.*',
  'x-sucuri-.*',
  'incap-.*',
  'x-tailscale-.*',
  'tailscale-.*',
])

const addressHeader = toPattern(addressHeaders)

/** CGI and WSGI write names with `_`, and so do proxies of their world. */
function toPattern(names: readonly string[]): RegExp {
  return new RegExp(`^(?:${names.join('|').replaceAll('-', '[-_]')})$`, 'i')
}

/** Finds the name of a field with the address of a client that is none of these, in lower case. */
export function findOtherAddress(headers: Headers, addresses: readonly string[]): string | undefined {
  const found = [...headers].find(([name, value]) => addressHeader.test(name) && !addresses.includes(value.trim()))
  return found?.[0].toLowerCase()
}

/** Whether a proxy has added one of the header fields, so that the peer is not the client. */
export function hasProxyHeader(headers: Headers): boolean {
  const fields = headers.toRaw()
  for (let at = 0; at < fields.length; at += 2) {
    // Names are at even indexes.
    if (proxyHeader.test(fields[at] as string)) return true
  }
  return false
}
