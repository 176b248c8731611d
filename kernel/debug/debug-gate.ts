import { createHmac, timingSafeEqual } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import type { BlockList } from 'node:net'
import { type Config, findUserIds } from '../../lib/env/config.ts'
import { ARGUMENT_INVALID } from '../../lib/errors/arguments.ts'
import { listCookieValues, setCookie } from '../../lib/http/cookies.ts'
import type { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request } from '../../lib/http/request.ts'
import { findProblemOfClient } from '../../lib/http/request-checks.ts'
import { includesHost } from '../../lib/http/request-target.ts'
import {
  createAddressList,
  findOtherAddress,
  hasProxyHeader,
  includesAddress,
  type TrustableHeader,
} from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { describeValue } from '../../lib/text/describe-value.ts'

const ownHosts: readonly string[] = ['localhost', '*.localhost', '127.0.0.1', '[::1]']

/** The rules for debug output, from the configuration. No request can change them. */
export interface DebugPolicy {
  /** The environment is `dev`, with debug on. */
  readonly isDebug: boolean
  /** Allowed hosts in addition to those of this machine, such as `*.example.org`. */
  readonly hosts: readonly string[]
  /** Allowed peers in addition to those of this machine. */
  readonly allowedPeers: BlockList
  /** The headers of trusted proxies that are used. */
  readonly trustedHeaders: readonly TrustableHeader[]
  /** The ids of the users whose clients on this machine are allowed; absent if the system has no user ids. */
  readonly users: ReadonlySet<number> | undefined
  readonly key: DebugKey | undefined
}

/** Whether the settings allow debug output. If not, no client gets any. */
export function isDebugOn(config: Config): boolean {
  if (typeof config?.environment !== 'string')
    throw new ARGUMENT_INVALID(['isDebugOn(app.config)', `it needs the configuration, not ${describeValue(config)}`])
  return config.environment === 'dev' && config.isDebug
}

/** Reads the policy of a process from its configuration. @throws CONFIG_INVALID for an unknown user */
export function createDebugPolicy(config: Config, ownId: number | undefined = process.getuid?.()): DebugPolicy {
  const isDebug = isDebugOn(config)
  return {
    isDebug,
    hosts: config.hosts,
    allowedPeers: createAddressList(config.debugAllowedIps),
    trustedHeaders: config.trustedHeaders,
    users: isDebug && ownId !== undefined ? new Set([ownId, ...findUserIds(config.debugAllowedUsers)]) : undefined,
    key: config.debugKey === undefined ? undefined : new DebugKey(config.debugKey),
  }
}

/** Whether the settings allow debug output only for programs of the user of this process, on this machine. */
export function isForOwnUser({ debugAllowedIps, debugAllowedUsers, trustedProxies }: Config): boolean {
  return [debugAllowedIps, debugAllowedUsers, trustedProxies].every(({ length }) => length === 0)
}

/** Whether a client may see debug output; if not, the reason and a remedy. */
export type DebugDecision =
  | { readonly isAllowed: true }
  | { readonly isAllowed: false; readonly reason: string; readonly remedy: string }

/** HTTP/1.0 is the version of proxies. Servers of other frameworks may have clients of HTTP/2. */
const directVersions: readonly string[] = ['1.1', '2']

/**
 * The one gate of all debug output: headers, error details, toolbar and profiler. It allows a client
 * only in debug mode, for a request whose host, version and header fields are valid, from a peer on
 * this machine (or a listed one), under a host name of this machine (or a listed one), whose program
 * runs as the user of the server (or a listed one), not for scripts of a page of another host, and never through a
 * proxy that is not trusted. A proxy shows itself by its header fields, by HTTP/1.0, or by its user. The key is checked
 * separately.
 */
export function decideDebugAccess(request: Request, policy: DebugPolicy, user: PeerUser): DebugDecision {
  if (!policy.isDebug) return refuse('debug is off', 'APP_ENV=dev APP_DEBUG=1')

  // Node drops header fields if a request has too many, among them perhaps those of a proxy.
  const problem = findProblemOfClient(request)
  if (problem !== undefined) return { isAllowed: false, reason: `the request is refused (${problem.code})`, remedy: '' }

  // A trusted proxy that does not name its client is handled like any other peer.
  const forwardedFor = request.forwarded.clientIp
  if (
    forwardedFor === undefined &&
    (!directVersions.includes(request.httpVersion) || hasProxyHeader(request.headers))
  ) {
    return refuse('the request came through a proxy that is not trusted', 'TRUSTED_PROXIES')
  }
  const disputing = forwardedFor === undefined ? undefined : findDisputing(request, policy.trustedHeaders)
  if (disputing !== undefined) {
    const remedy = `The proxy has to remove ${disputing}, and to write a header of TRUSTED_HEADERS.`
    return { isAllowed: false, reason: `${disputing}, which is not trusted, may name another client`, remedy }
  }
  if (!isLocal(request) && !includesAddress(policy.allowedPeers, request.clientIp)) {
    return refuse(`the client ${request.clientIp} is not on this machine`, 'DEBUG_ALLOWED_IPS')
  }
  if (!includesHost(ownHosts, request.hostname) && !includesHost(policy.hosts, request.hostname)) {
    return refuse(`the host "${request.hostname}" is not a name of this machine`, 'APP_HOSTS')
  }
  const page = findForeignPage(request, policy.hosts)
  if (page !== undefined) return refuse(`scripts of a page of "${page}" could read it`, 'APP_HOSTS')
  // The user at the other end is that of a proxy which is trusted.
  if (forwardedFor !== undefined || !isLoopback(request.peerAddress)) return { isAllowed: true }
  if (user === 'none') {
    const reason = `${request.peerAddress} has no open socket that belongs to the connection`
    return { isAllowed: false, reason, remedy: 'No setting would allow it.' }
  }
  if (user !== 'unknown' && policy.users?.has(user) === false) {
    return refuse(`the client's program runs as another user (${user})`, 'DEBUG_ALLOWED_USERS')
  }
  return { isAllowed: true }
}

/**
 * Finds the origin of a page of another host whose scripts may read the response, if the application allows it by CORS.
 * A navigation shows the response to the developer only.
 */
function findForeignPage({ headers }: Request, hosts: readonly string[]): string | undefined {
  const origin = headers.get('origin')
  if (origin === null || headers.get('sec-fetch-mode') === 'navigate') return undefined
  const host = URL.canParse(origin) ? new URL(origin).hostname : ''
  return includesHost([...ownHosts, ...hosts], host) ? undefined : origin
}

function refuse(reason: string, setting: string): DebugDecision {
  return { isAllowed: false, reason, remedy: `The setting ${setting} would allow it.` }
}

/**
 * Finds a header that is not trusted and may name another client. The trusted proxy may write this header, and pass on
 * the trusted header as the client has sent it.
 */
function findDisputing(
  { clientIp, forwarded, headers }: Request,
  trusted: readonly TrustableHeader[],
): string | undefined {
  return (
    findOtherAddress(headers, [clientIp, ...(forwarded.proxies ?? [])]) ??
    (['forwarded', 'x-forwarded-for'] as const).find(name => !trusted.includes(name) && headers.has(name))
  )
}

/** Whether the client is on this machine: the loopback that a proxy names is that of the proxy's own machine. */
export function isLocal({ clientIp, forwarded, peerAddress }: Request): boolean {
  return isLoopback(peerAddress) && isLoopback(clientIp) && forwarded.proxies?.every(isLoopback) !== false
}

/** Whether an address leads to this machine. */
export function isLoopback(address: string): boolean {
  return address === '127.0.0.1' || address === '::1' || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/.test(address)
}

const wrongKeyRemedy =
  'The link that the server prints at start, or DEBUG_KEY in the header x-debug-key, would allow it.'

/** What a gate has decided about a request. */
interface Decision {
  readonly gate: DebugGate
  readonly isAllowed: boolean
}

/** A request holds its decision under this key: the values of a WeakMap make minor garbage collections dearer. */
const decision = Symbol('debug')

/** In development, a field that the prototype does not have is set through a proxy. */
Object.defineProperty(Request.prototype, decision, { writable: true, configurable: true })

type Decided = Request & { [decision]?: Decision }

/** Decides for each request whether its client may see debug output, and logs each kind of refusal once. */
export class DebugGate {
  readonly #policy: DebugPolicy
  readonly #logger: Logger
  readonly #peers: PeerUsers
  readonly #users = new WeakMap<Connection, PeerUser>()
  readonly #allowed: Decision = { gate: this, isAllowed: true }
  readonly #refused: Decision = { gate: this, isAllowed: false }
  readonly #logged = new Set<string>()

  constructor(policy: DebugPolicy, logger: Logger, peers: PeerUsers = new PeerUsers()) {
    this.#policy = policy
    this.#logger = logger
    this.#peers = peers
  }

  /** Whether the process was started in debug mode; independent of clients. */
  get isDebug(): boolean {
    return this.#policy.isDebug
  }

  /**
   * Finds the user of a connection, if its client may see debug output by all other rules. It
   * takes some milliseconds, once for each connection. The server calls it before the first
   * request is handled, so the request's time does not include it.
   */
  identify(request: Request): void {
    const { connection } = request
    if (!this.isDebug || this.#policy.users === undefined || connection?.remotePort === undefined) return
    if (this.#users.has(connection) || !decideDebugAccess(request, this.#policy, 'unknown').isAllowed) return
    this.#users.set(connection, this.#peers.find(connection))
  }

  /** Whether this request's client may see debug output. A sub-request is for the client of the main request. */
  allows(request: Request): boolean {
    if (!this.isDebug) return false
    if (request.parent !== undefined) return this.allows(request.parent)
    const known = (request as Decided)[decision]
    if (known?.gate === this) return known.isAllowed
    const isAllowed = this.#admits(request) && this.#hasKey(request)
    this.#decide(request, isAllowed)
    return isAllowed
  }

  /** Refuses a request before it is handled: it is the replay of a refused one. */
  refuse(request: Request): void {
    this.#decide(request, false)
  }

  #decide(request: Request, isAllowed: boolean): void {
    ;(request as Decided)[decision] = isAllowed ? this.#allowed : this.#refused
  }

  /** Whether a request passes all conditions except the debug key. */
  #admits(request: Request): boolean {
    this.identify(request)
    const { connection } = request
    // A request without a socket was made in this process: by a test, or as a replay.
    const user = (connection && this.#users.get(connection)) ?? 'unknown'
    const decision = decideDebugAccess(request, this.#policy, user)
    if (decision.isAllowed) return true
    if (this.isDebug && decision.remedy !== '') this.#explain(decision.reason, decision.remedy)
    return false
  }

  /** Whether a text is the key, and its client may see debug output by all other rules. */
  isOpenedBy(key: string, request: Request): boolean {
    if (this.#policy.key === undefined || !this.#admits(request)) return false
    if (this.#policy.key.is(key)) {
      this.#decide(request, true)
      return true
    }
    this.#explain('a client has sent a wrong key', wrongKeyRemedy)
    return false
  }

  /** Sets a cookie, so that the client need not send the key again. */
  giveCookie(headers: Headers, isSecure: boolean): void {
    this.#policy.key?.giveCookie(headers, isSecure)
  }

  #hasKey(request: Request): boolean {
    const { key } = this.#policy
    if (key === undefined || request.connection?.remotePort === undefined || key.isIn(request)) return true
    this.#explain('the client has not shown the right key', wrongKeyRemedy)
    return false
  }

  #explain(reason: string, remedy: string): void {
    if (this.#logged.has(remedy)) return
    this.#logged.add(remedy)
    this.#logger.warning('Debug output is withheld: {reason}. {remedy}', { reason, remedy })
  }
}

const cookieName = 'debug_key'
const headerName = 'x-debug-key'

/** Checks `DEBUG_KEY`: the key in a header, or the cookie that the printed link sets. */
export class DebugKey {
  readonly #proof: Buffer

  constructor(key: string) {
    this.#proof = toProof(key)
  }

  /** Whether a text is the key. Takes the same time for each wrong text. */
  is(text: string): boolean {
    return timingSafeEqual(toProof(text), this.#proof)
  }

  /** Whether the request has the cookie, or the header `x-debug-key`. */
  isIn({ headers }: Request): boolean {
    const key = headers.get(headerName)
    if (key !== null) return this.is(key)
    const proofs = listCookieValues(headers.get('cookie'), cookieName).map(value => Buffer.from(value, 'base64url'))
    return proofs.some(proof => proof.length === this.#proof.length && timingSafeEqual(proof, this.#proof))
  }

  /** Sets the cookie, until the browser ends. It does not contain the key, and changes with it. */
  giveCookie(headers: Headers, isSecure: boolean): void {
    const options = { sameSite: 'strict', ...(isSecure && { secure: true }) } as const
    setCookie(headers, cookieName, this.#proof.toString('base64url'), options)
  }
}

/** The text is no key of HMAC, which is the same with zeros behind it. */
function toProof(text: string): Buffer {
  return createHmac('sha256', 'debug output').update(text).digest()
}

/**
 * The id of the user that holds the other end of a connection. `none`: this machine does not have such a socket, or no
 * longer. `unknown`: the system does not give this information.
 */
export type PeerUser = number | 'none' | 'unknown'

/** The sockets of one address family, in the format of `/proc/net/tcp` (proc_net_tcp in the kernel's documentation). */
export type SocketTable = 'tcp' | 'tcp6'

/** Reads a table of sockets in parts, until a part is enough. Throws if the system has no such table. */
type ReadSockets = (table: SocketTable, isEnough: (part: string) => boolean) => void

/**
 * Asks Linux which user holds the other end of a loopback connection. For a table the kernel walks its whole hash of
 * sockets, which takes some milliseconds: once for each connection is enough.
 */
export class PeerUsers {
  readonly #read: ReadSockets

  constructor(read: ReadSockets = readSockets) {
    this.#read = read
  }

  /** Finds the user at the other end. Never throws. */
  find({ localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 }: Connection): PeerUser {
    let user: PeerUser | undefined
    // A client of IPv4 may have a socket of IPv6: Java does.
    for (const [table, toHex] of families) {
      const [peer, own] = [toHex(remoteAddress), toHex(localAddress)]
      if (peer === undefined || own === undefined) continue
      try {
        const search = new RowSearch(`${peer}:${toPort(remotePort)} ${own}:${toPort(localPort)} `)
        this.#read(table, part => search.isFoundIn(part))
        user = search.user
      } catch (error) {
        // A client could cause other errors, such as too many open files.
        if (!isAbsent(error)) return 'none'
        user ??= 'unknown'
      }
      if (typeof user === 'number') return user
    }
    return user ?? 'none'
  }
}

/** Whether the table does not exist: on other systems, in sandboxes, on Linux without IPv6. */
function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
}

/** Bytes of six or seven rows: Linux lists only as many sockets as one read has room for. */
const part = Buffer.allocUnsafe(1024)

function readSockets(table: SocketTable, isEnough: (part: string) => boolean): void {
  const file = openSync(`/proc/net/${table}`, 'r')
  try {
    let length: number
    do {
      length = readSync(file, part)
    } while (length > 0 && !isEnough(part.toString('latin1', 0, length)))
  } finally {
    closeSync(file)
  }
}

/** The columns after both addresses: state, queues, timer, retransmissions, user, timeout, inode. */
const userColumn = 4
const inodeColumn = 6

/**
 * Looks for the socket with these ends. A row without an inode (closed by its process, or waiting
 * for late packets) has no user: it says 0, which is root's.
 */
class RowSearch {
  user: PeerUser = 'none'
  readonly #ends: string
  /** The beginning of a row whose end is in the next part. */
  #rest = ''

  constructor(ends: string) {
    this.#ends = ends
  }

  isFoundIn(part: string): boolean {
    const ends = this.#ends
    const rows = this.#rest + part
    const end = rows.lastIndexOf('\n')
    for (let at = rows.indexOf(ends); at !== -1 && at < end; at = rows.indexOf(ends, at + ends.length)) {
      const columns = rows.slice(at + ends.length, rows.indexOf('\n', at)).split(/ +/)
      if (Number(columns[inodeColumn]) > 0) {
        this.user = Number(columns[userColumn])
        return true
      }
    }
    this.#rest = rows.slice(end + 1)
    return false
  }
}

function toPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/** `127.0.0.1`, also as `::ffff:127.0.0.1`. */
function toHex4(address: string): string | undefined {
  const parts = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1)
  return parts && toWords(parts.map(Number))
}

/** `::1`, or an address of IPv4 as one of IPv6; a loopback connection has no other. */
function toHex6(address: string): string | undefined {
  const mapped = toHex4(address)
  if (mapped !== undefined) return `${toWords([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255])}${mapped}`
  return address === '::1' ? toWords([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]) : undefined
}

/** The kernel prints addresses as words of 32 bits, in the byte order of the machine. */
function toWords(bytes: readonly number[]): string {
  const words = new Uint32Array(Uint8Array.from(bytes).buffer)
  return Array.from(words, word => word.toString(16).toUpperCase().padStart(8, '0')).join('')
}

/** How the ends of a connection stand in each table. */
const families = [
  ['tcp', toHex4],
  ['tcp6', toHex6],
] as const
