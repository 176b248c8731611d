import type { BlockList } from 'node:net'
import type { Config } from '../lib/env/config.ts'
import { includesHost } from '../lib/http/host.ts'
import type { Request } from '../lib/http/request.ts'
import { forwardingHeaders, includesAddress } from '../lib/http/trusted-proxies.ts'

const ownHosts: readonly string[] = ['localhost', '*.localhost', '127.0.0.1', '[::1]']

/** What the process was started with; no request can change it. */
export interface DebugPolicy {
  /** The environment is `dev`, with debug on. */
  readonly isDebug: boolean
  /** Hosts beside those of this machine, `*.example.org` included. */
  readonly hosts: readonly string[]
  /** Peers beside those of this machine. */
  readonly allowedPeers: BlockList
}

/** Whether the process was started for debugging: only then is there anything that a client could be shown. */
export function isDebugOn({ environment, isDebug }: Config): boolean {
  return environment === 'dev' && isDebug
}

/** Whether a client may see debug output; if not, why, and the setting that would allow it. */
export type DebugDecision =
  | { readonly isAllowed: true }
  | { readonly isAllowed: false; readonly reason: string; readonly setting: string }

/**
 * The one gate of all debug output: headers, error details, toolbar and profiler. It opens only where debug was turned
 * on at start, for a peer on this machine (or a listed one), under a host name of this machine (or a listed one), and
 * never through a proxy that is not trusted: such a one is known by its forwarding headers, or by HTTP/1.0.
 */
export function decideDebugAccess(request: Request, policy: DebugPolicy): DebugDecision {
  if (!policy.isDebug) return refuse('debug is off', 'APP_ENV=dev APP_DEBUG=1')

  // A trusted proxy that does not say for whom it speaks is taken for any other peer.
  const forwardedFor = request.forwarded.clientIp
  if (forwardedFor === undefined && cameThroughProxy(request)) {
    return refuse('the request came through a proxy that is not trusted', 'TRUSTED_PROXIES')
  }
  if (!isAllowedPeer(request.clientIp, policy.allowedPeers)) {
    return refuse(`the client ${request.clientIp} is not on this machine`, 'DEBUG_ALLOWED_IPS')
  }
  if (!includesHost(ownHosts, request.hostname) && !includesHost(policy.hosts, request.hostname)) {
    return refuse(`the host "${request.hostname}" is not a name of this machine`, 'APP_HOSTS')
  }
  return { isAllowed: true }
}

function refuse(reason: string, setting: string): DebugDecision {
  return { isAllowed: false, reason, setting }
}

function cameThroughProxy(request: Request): boolean {
  return request.httpVersion !== '1.1' || forwardingHeaders.some(name => request.headers.has(name))
}

function isAllowedPeer(address: string, allowed: BlockList): boolean {
  return isLoopback(address) || includesAddress(allowed, address)
}

function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address) || address === '::1'
}
