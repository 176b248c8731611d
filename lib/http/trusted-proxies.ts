import { BlockList, isIP } from 'node:net'
import { HTTP_FORWARDING_CONFLICT, HTTP_FORWARDING_INVALID } from './errors.ts'
import type { Headers } from './headers.ts'

/** What a trusted proxy says of the request it passed on. */
export interface Forwarded {
  readonly clientIp?: string
  /** The addresses of the trusted proxies between the client and the peer, the farthest first; absent where it has none. */
  readonly proxies?: readonly string[]
  readonly scheme?: 'http' | 'https'
  /** A host, not yet checked; it may have a port. */
  readonly host?: string
  readonly port?: number
  /** The path below which the client sees the site, without a slash at its end. */
  readonly prefix?: string
}

/** The headers that a trusted proxy may be believed by. */
export const trustableHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-prefix',
] as const

/** One of the headers that a trusted proxy may be believed by. */
export type TrustableHeader = (typeof trustableHeaders)[number]

/** The headers that are believed by default. Most proxies pass a client's `Forwarded` on. */
export const defaultTrustedHeaders: readonly TrustableHeader[] = trustableHeaders.filter(name => name !== 'forwarded')

/** What stands for the loopback and all private networks in a list of proxies. */
export const privateRangesNames: readonly string[] = ['private_ranges', 'PRIVATE_SUBNETS']

/** RFC 1122, 1918 and 3927; RFC 4291 and 4193. */
const privateRanges: readonly string[] = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  ...['::1', 'fe80::/10', 'fc00::/7'],
]

/** The headers by which a proxy betrays itself. */
export const forwardingHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
  'via',
] as const

/** The proxies that are trusted, and the headers in which they are believed; without a proxy, no header is. */
export class TrustedProxies {
  /** Absent when no proxy is trusted: asking an empty list costs more than the rest of a request's reading. */
  readonly #addresses: BlockList | undefined
  readonly #headers: ReadonlySet<TrustableHeader>
  /** The last peer, and whether it is trusted: a proxy sends most requests, and a look at the list takes microseconds. */
  #peer = { address: '', isTrusted: false }

  /**
   * An entry is an address, a subnet, or `private_ranges`.
   *
   * @throws TypeError naming the first entry that is none of them
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
   * Reads what a trusted peer says: each field from `Forwarded` (RFC 7239) or from its own `X-Forwarded-*` header. The
   * client is the right-most address that is no trusted proxy. Of the other fields, the value counts that was added by
   * the proxy next to the client; what stands to the left of it comes from the client itself.
   *
   * @throws HTTP_FORWARDING_CONFLICT (400) when both kinds have a field, and differ
   * @throws HTTP_FORWARDING_INVALID (400) when a header is malformed
   */
  read(headers: Headers, peer: string): Forwarded {
    if (this.#addresses === undefined) return {}
    if (peer !== this.#peer.address) this.#peer = { address: peer, isTrusted: this.includes(peer) }
    if (!this.#peer.isTrusted) return {}
    const elements = this.#readElements(headers)
    const listed = (name: TrustableHeader) => (this.#headers.has(name) ? toList(headers.get(name)) : [])
    const claimed = valuesOf(elements, 'for').map(withoutPort)
    const addresses = agree('x-forwarded-for', claimed, listed('x-forwarded-for').map(withoutPort))
    const last = addresses.findLastIndex(address => !this.includes(address))
    // The farthest, when all are proxies.
    const client = last === -1 ? 0 : last
    const byClient = elements.filter(element => element.has('for'))[client]
    const trusted = byClient === undefined ? elements : elements.slice(elements.indexOf(byClient))
    const hops = addresses.length === 0 ? Number.POSITIVE_INFINITY : addresses.length - client
    const find = (name: TrustableHeader, said: readonly string[] = [], own?: string) => {
      const values = listed(name)
      agree(name, said, values)
      return own ?? values[Math.max(values.length - hops, 0)]
    }

    const hosts = valuesOf(elements, 'host')
    const host = find('x-forwarded-host', hosts, valuesOf(trusted, 'host')[0])
    const proto = find('x-forwarded-proto', valuesOf(elements, 'proto'), valuesOf(trusted, 'proto')[0])
    const scheme = schemes.get(proto?.toLowerCase() ?? '')
    const port = find('x-forwarded-port', hosts.map(portOf(scheme)))
    const prefix = find('x-forwarded-prefix')
    const clientIp = addresses[client]
    return {
      ...(clientIp !== undefined && isIP(clientIp) !== 0 && { clientIp }),
      ...(client < addresses.length - 1 && { proxies: addresses.slice(client + 1) }),
      ...(scheme && { scheme }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port: parsePort(port) }),
      ...(prefix !== undefined && { prefix: parsePrefix(prefix) }),
    }
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
 * Makes a list of addresses and subnets, such as `10.0.0.0/8` or `::1`.
 *
 * @throws TypeError naming the first entry that is neither
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

/** Whether a list has an address; an IPv4 address may be written as an IPv6 one (`::ffff:127.0.0.1`). */
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

/** Drops the port that both headers allow behind an address, and the brackets of an IPv6 one. */
function withoutPort(address: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
}

/** Gives the one of two lists that is not empty. @throws HTTP_FORWARDING_CONFLICT when neither is, and they differ */
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

/** Neither a second slash nor a dot segment: links would lead to another host, or out of the path. */
const path = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~!$&'()*+;=:@%-]+)*\/?$/

function parsePrefix(text: string): string {
  if (!path.test(text)) throw new HTTP_FORWARDING_INVALID(['x-forwarded-prefix', text])
  return text.endsWith('/') ? text.slice(0, -1) : text
}

/** One proxy's part of a `Forwarded` header: the values of its parameters, by names in lower case. */
export type ForwardedElement = ReadonlyMap<string, string>

/** One `name=value` and what ends it. A value need not be quoted where it has a colon: many proxies do not quote it. */
const pair = /(?:[\t ]*([!#$%&'*+.^_`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\t ",;]+))?[\t ]*([,;]|$)/gy

/** Reads a `Forwarded` header (RFC 7239, section 4), the farthest proxy first; `undefined` when it is not one. */
export function parseForwarded(header: string): readonly ForwardedElement[] | undefined {
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
