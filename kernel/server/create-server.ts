import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { SERVER_TLS_INVALID } from './errors.ts'

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
