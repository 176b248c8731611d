import { createServer as createHttpServer, type RequestListener, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net'
import { EventStream } from '../../lib/http/event-stream.ts'
import type { Response } from '../../lib/http/response.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN, SERVER_TLS_INVALID } from './errors.ts'
import type { Exchanges } from './exchanges.ts'
import type { MessageClasses } from './messages.ts'

/** The certificate and the private key of a server for `https:`, as PEM texts. */
export interface TlsIdentity {
  /** The certificate and its chain, as PEM. */
  readonly cert: string
  /** The private key, as PEM. */
  readonly key: string
}

/** Milliseconds. With Node's default interval of 30 seconds, a slow client would keep its connection for too long. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
}

/** Milliseconds until an idle connection is closed: Node adds a second to the time that it announces to clients. */
export const keepAliveTime: number = timeouts.keepAliveTimeout + 1_000

/** Creates a server for `http:`, or with an identity for `https:`, with timeouts. @throws SERVER_TLS_INVALID */
export async function createServer(
  listener: RequestListener,
  identity: TlsIdentity | undefined,
  messages: MessageClasses = {},
): Promise<Server | TlsServer> {
  const options = { ...timeouts, ...messages }
  if (identity === undefined) return marked(createHttpServer(options, listener))
  // Loaded only when needed: most servers are behind a proxy that does TLS.
  const https = await import('node:https')
  const mistake = await findTlsMistake(identity)
  if (mistake !== undefined) throw new SERVER_TLS_INVALID([mistake])
  try {
    return marked(https.createServer({ ...options, handshakeTimeout: timeouts.headersTimeout, ...identity }, listener))
  } catch (error) {
    throw new SERVER_TLS_INVALID([(error as Error).message], { cause: error })
  }
}

/** What is wrong with the two files. With an empty one, Node listens, and refuses each client. */
async function findTlsMistake({ cert, key }: TlsIdentity): Promise<string | undefined> {
  const { createPrivateKey, X509Certificate } = await import('node:crypto')
  const first = attempt(() => new X509Certificate(cert))
  const privateKey = attempt(() => createPrivateKey(key))
  if (first === undefined) return 'the certificate (--tls-cert) is no PEM of a certificate'
  if (privateKey === undefined) return 'the key (--tls-key) is no PEM of a private key without a passphrase'
  if (first.checkPrivateKey(privateKey)) return undefined
  const all = cert.split(/(?<=-----END .*-----)/).map(text => attempt(() => new X509Certificate(text)))
  return all.some(other => other?.checkPrivateKey(privateKey))
    ? 'the certificate of the key (--tls-key) must be the first one in --tls-cert, before those that have signed it'
    : `the key (--tls-key) is not the one of the certificate (--tls-cert) for "${first.subject.replaceAll('\n', ', ')}"`
}

function attempt<value>(read: () => value): value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const kernelServers = new WeakSet<object>()

function marked<AnyServer extends Server | TlsServer>(server: AnyServer): AnyServer {
  kernelServers.add(server)
  return server
}

/** Whether a server serves a kernel, which records its requests itself. */
export function isKernelServer(server: object): boolean {
  return kernelServers.has(server)
}

/**
 * Starts to listen, and returns the URL of the server. A socket is the file descriptor of one that
 * is bound already: another process has it as well, so connections wait while no process listens.
 * @throws SERVER_PORT_TAKEN SERVER_LISTEN_FAILED
 */
export async function listen(
  server: Server | TlsServer,
  host: string,
  port: number,
  socket: number | undefined,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(toListenError(error, host, port)))
    server.listen(socket === undefined ? { host, port } : { fd: socket }, resolve)
  })
  // A server that listens on a port has an address with the port.
  const { address, family, port: chosen } = server.address() as AddressInfo
  const scheme = server instanceof Server ? 'http' : 'https'
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`
}

function toListenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') return new SERVER_PORT_TAKEN([port, host], { cause: error })
  const isElsewhere = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL'].includes(String(error.code))
  const right = isElsewhere ? '; --host is an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all' : ''
  const isRefused = error.code === 'EACCES' && port < 1024
  const refused = '; ports below 1024 are for root, or with CAP_NET_BIND_SERVICE: choose a higher one'
  return new SERVER_LISTEN_FAILED([`${host}:${port}`, error.message + (isRefused ? refused : right)], { cause: error })
}

/** How long a closing server waits for its clients, in milliseconds. */
export interface ClosingTimes {
  /** The time for requests that are not answered yet. */
  readonly deadline?: number
  /** The time for another request on an idle connection. */
  readonly linger?: number
  /**
   * Called when the server accepts no connections any more, so that another process may. Idle connections
   * are closed before, in spite of the linger time: that is then for the first request of a new connection.
   */
  readonly onReplaceable?: () => void
}

/** Milliseconds. In a longer turn of the event loop there was work to do: a client may have connected meanwhile. */
const shortTurn = 0.05

/**
 * Closes the listening socket as soon as no client waits on it: the system would reset the
 * connections that it has opened for clients, and with them the requests that were sent. Each turn
 * of the event loop accepts what waits; after two short turns without a new connection the socket
 * closes. Requests should not be handled meanwhile: that makes turns long.
 */
export async function stopAccepting(server: Server): Promise<void> {
  let quiet = 0
  const restart = () => {
    quiet = 0
  }
  server.on('connection', restart)
  for (let turn = 0; quiet < 2 && turn < 100; turn++) {
    quiet++
    const begin = performance.now()
    await new Promise(resolve => setImmediate(resolve))
    if (performance.now() - begin > shortTurn) restart()
  }
  // The close() of an HTTP server would close idle connections at once.
  TcpServer.prototype.close.call(server)
  server.off('connection', restart)
}

/** Milliseconds between two checks for idle connections. */
const sweepInterval = 50

/**
 * Milliseconds in which the first byte of a connection arrives: its client may have connected just
 * before the server closed.
 */
const firstByteTime = 500

/** Whether no request has begun to arrive on a connection. */
function isSilent({ bytesRead }: Socket): boolean {
  return bytesRead === 0
}

/**
 * Closes idle connections but silent ones, which Node counts among them from version 26 on, and
 * among the busy ones before.
 */
function closeIdle(server: Server, sockets: ReadonlySet<Socket>): void {
  const spared = [...sockets].filter(isSilent)
  // While Node closes idle connections, their method `destroy` has no effect.
  for (const socket of spared) socket.destroy = socket.ref
  server.closeIdleConnections()
  for (const socket of spared) Reflect.deleteProperty(socket, 'destroy')
}

/**
 * Waits until all connections of a server that has stopped to accept are closed: idle ones after
 * the linger time, all others at the deadline. The sockets are those of the connections, and of
 * their TLS. Returns the number of connections that were cut off.
 */
export async function closeConnections(
  server: Server,
  sockets: ReadonlySet<Socket>,
  exchanges: Exchanges,
  { deadline = 10_000, linger = 0, onReplaceable }: ClosingTimes = {},
): Promise<number> {
  const begin = performance.now()
  // Without a listening socket it only waits.
  const closed = new Promise<void>(resolve => TcpServer.prototype.close.call(server, () => resolve()))
  const sweep = () => {
    // For Node, a connection is idle as soon as the response is written, even if it is not sent yet.
    if (!exchanges.isSending) closeIdle(server, sockets)
    if (performance.now() - begin < firstByteTime) return
    for (const socket of sockets) if (isSilent(socket)) socket.destroy()
  }
  // Input is read first: after a busy time, an unread request may wait on a connection that looks idle.
  const sweepSoon = () => setImmediate(sweep)
  let sweepTimer: NodeJS.Timeout | undefined
  const lingerTimer = setTimeout(() => {
    sweepSoon()
    sweepTimer = setInterval(sweepSoon, sweepInterval)
  }, linger)
  let cutOff = 0
  const deadlineTimer = setTimeout(() => {
    // The connections themselves: their TLS sockets are in the set, too.
    cutOff = [...sockets].filter(socket => !('encrypted' in socket)).length
    // Node's closeAllConnections() leaves out connections before the end of their TLS handshake.
    for (const socket of sockets) socket.destroy()
  }, deadline)
  if (onReplaceable !== undefined) {
    if (!exchanges.isSending) closeIdle(server, sockets)
    onReplaceable()
  }
  await closed
  for (const timeout of [lingerTimer, sweepTimer, deadlineTimer]) clearTimeout(timeout)
  return cutOff
}

/** The milliseconds after which clients connect again: at least, and at most. */
const [firstRetry, lastRetry] = [1_000, 3_000]

/** Ends a stream of events, because the server stops. Its clients connect again, not all at the same time. */
export function endEventStream(response: Response | undefined): void {
  if (!(response instanceof EventStream)) return
  response.send({ retry: Math.round(firstRetry + Math.random() * (lastRetry - firstRetry)) })
  response.end()
}
