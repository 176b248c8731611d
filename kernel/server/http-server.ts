import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { type Socket, Server as TcpServer } from 'node:net'
import { SERVER_TLS_INVALID } from './errors.ts'
import type { Exchanges } from './exchanges.ts'

/** What a server of `https:` proves itself with: PEM texts. */
export interface TlsIdentity {
  readonly cert: string
  readonly key: string
}

/** Milliseconds. Node checks them at the interval, which is 30 seconds by default: a slow client would stay for long. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
}

/** Milliseconds after which idle connections are closed: node grants a second more than it tells clients. */
export const idleTime: number = timeouts.keepAliveTimeout + 1_000

/** Creates a server of `http:`, or with an identity one of `https:`, that waits for no client for ever. @throws SERVER_TLS_INVALID */
export async function createServer(
  listener: RequestListener,
  identity: TlsIdentity | undefined,
): Promise<Server | TlsServer> {
  if (identity === undefined) return createHttpServer(timeouts, listener)
  // Most servers have a proxy in front that speaks TLS.
  const https = await import('node:https')
  try {
    return https.createServer({ ...timeouts, handshakeTimeout: timeouts.headersTimeout, ...identity }, listener)
  } catch (error) {
    throw new SERVER_TLS_INVALID([(error as Error).message], { cause: error })
  }
}

/** Milliseconds that a server which stops leaves to its clients. */
export interface ClosingTimes {
  /** For all that is under way. */
  readonly deadline?: number
  /** For idle connections. */
  readonly linger?: number
}

/** Milliseconds between two looks at what is idle. */
const sweepInterval = 50

/**
 * Accepts nothing new and waits until all connections are closed: idle and silent ones are after the time to linger, and
 * whatever is left is at the deadline. Gives the number of those.
 */
export async function closeServer(
  server: Server,
  sockets: ReadonlySet<Socket>,
  exchanges: Exchanges,
  { deadline = 10_000, linger = 0 }: ClosingTimes = {},
): Promise<number> {
  const sweep = () => {
    // Node takes a connection for idle as soon as its answer is written, be it still on its way to the client.
    if (!exchanges.isSending) server.closeIdleConnections()
    // Node counts those that have not sent a byte among the busy ones.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
  // What has come is read first: where the process was busy, or the machine, a request may wait on what looks idle.
  const sweepSoon = () => setImmediate(sweep)
  let sweeper: NodeJS.Timeout | undefined
  const lingerer = setTimeout(() => {
    sweepSoon()
    sweeper = setInterval(sweepSoon, sweepInterval)
  }, linger)
  let left = 0
  const timer = setTimeout(() => {
    left = sockets.size
    // Node's own closeAllConnections() knows of none that has not shaken hands yet (TLS).
    for (const socket of sockets) socket.destroy()
  }, deadline)
  // An HTTP server's own close() begins with closing what is idle.
  await new Promise<void>(resolve => TcpServer.prototype.close.call(server, () => resolve()))
  for (const timeout of [lingerer, sweeper, timer]) clearTimeout(timeout)
  return left
}
