import { BlockList, isIP } from 'node:net'
import { HTTP_FORWARDING_CONFLICT } from './errors.ts'
import type { Headers } from './headers.ts'

/** What a trusted proxy says of the request it passed on. */
export interface Forwarded {
  readonly clientIp?: string
  readonly scheme?: 'http' | 'https'
  /** A host, not yet checked. */
  readonly host?: string
}

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

/** The addresses and subnets whose forwarding headers are believed; without any, none is. */
export class TrustedProxies {
  /** Absent when nobody is trusted: asking an empty list costs more than the rest of a request's reading. */
  readonly #addresses: BlockList | undefined

  /** @throws TypeError naming the first entry that is neither an address nor a subnet */
  constructor(entries: readonly string[] = []) {
    this.#addresses = entries.length === 0 ? undefined : createAddressList(entries)
  }

  /** Whether an address belongs to a trusted proxy. */
  includes(address: string): boolean {
    return this.#addresses !== undefined && includesAddress(this.#addresses, address)
  }

  /**
   * Reads `Forwarded` (RFC 7239) or `X-Forwarded-For`, `-Proto` and `-Host` as far as the peer may be believed. The
   * client is the right-most address that is not itself a trusted proxy.
   *
   * @throws HTTP_FORWARDING_CONFLICT (400) when both kinds are there and disagree
   */
  read(headers: Headers, peer: string): Forwarded {
    if (!this.includes(peer)) return {}
    const standard = this.#readForwarded(headers)
    const legacy = this.#readLegacy(headers)
    if (standard === undefined) return legacy
    if (disagree(standard, legacy)) throw new HTTP_FORWARDING_CONFLICT([])
    return standard
  }

  #readForwarded(headers: Headers): Forwarded | undefined {
    const header = headers.get('forwarded')
    if (header === null) return undefined
    const elements = header.split(',').map(parseElement)
    const nearest = elements.at(-1)
    return this.#toForwarded(
      elements.map(element => withoutPort(element.get('for') ?? '')),
      nearest?.get('proto'),
      nearest?.get('host'),
    )
  }

  #readLegacy(headers: Headers): Forwarded {
    const last = (name: string) => list(headers.get(name)).at(-1)
    const addresses = list(headers.get('x-forwarded-for')).map(withoutPort)
    return this.#toForwarded(addresses, last('x-forwarded-proto'), last('x-forwarded-host'))
  }

  #toForwarded(addresses: readonly string[], proto: string | undefined, host: string | undefined): Forwarded {
    const clientIp = addresses.findLast(address => !this.includes(address)) ?? addresses[0]
    const scheme = proto?.toLowerCase()
    return {
      ...(clientIp !== undefined && isIP(clientIp) !== 0 && { clientIp }),
      ...((scheme === 'http' || scheme === 'https') && { scheme }),
      ...(host !== undefined && { host }),
    }
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

function list(header: string | null): string[] {
  return (header ?? '')
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
}

function parseElement(element: string): Map<string, string> {
  const pairs = element.split(';').map(pair => pair.split('='))
  return new Map(pairs.map(([name = '', value = '']) => [name.trim().toLowerCase(), unquote(value.trim())]))
}

function unquote(value: string): string {
  return value.replace(/^"(.*)"$/, '$1')
}

/** Drops the port that both headers allow behind an address, and the brackets of an IPv6 one. */
function withoutPort(address: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
}

function disagree(one: Forwarded, other: Forwarded): boolean {
  const names = ['clientIp', 'scheme', 'host'] as const
  return names.some(name => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name])
}
