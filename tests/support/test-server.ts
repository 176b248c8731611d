import { connect, type Socket } from 'node:net'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel, type TestKernel } from 'sinfonietta/testing'
import type { Test } from 'tap'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { NodeServer } from '#kernel/server/node-server.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import { usesNodeMessages } from './node-messages.ts'
import { probeBundle } from './probe-bundle.ts'

/** A server on a free port of this machine. */
export interface Served {
  readonly server: NodeServer
  readonly url: string
  readonly port: number
  /** Sends bytes over a connection of their own and gives all that comes back until the server closes it. */
  raw(bytes: string): Promise<string>
}

/** A server with the site and the probe routes. */
export interface TestServer extends TestKernel, Served {}

export async function startServer(
  t: Test,
  variables: Record<string, string> = {},
  bundles: readonly Bundle[] = [],
): Promise<TestServer> {
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), siteBundle, probeBundle, ...bundles],
    variables: { ACCESS_LOG: '0', ...variables },
  })
  t.teardown(() => kernel.close())
  return { ...kernel, ...(await serveKernel(t, kernel)) }
}

/** Puts a server before a kernel; it is closed when the test ends. */
export async function serveKernel(t: Test, { app }: Pick<TestKernel, 'app'>): Promise<Served> {
  const { trustedHeaders, trustedProxies } = app.config
  const server = new NodeServer(app, {
    trustedProxies: new TrustedProxies(trustedProxies, trustedHeaders),
    nodeMessages: usesNodeMessages(),
  })
  const url = await server.listen('127.0.0.1', 0)
  const port = Number(url.split(':').at(-1))
  t.teardown(() => server.close({ deadline: 100 }))
  return { server, url, port, raw: bytes => exchange(port, bytes) }
}

/** Opens a connection that collects what it is sent. */
export function openConnection(port: number): { socket: Socket; received: () => string } {
  const chunks: Buffer[] = []
  const socket = connect(port, '127.0.0.1')
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => undefined)
  return { socket, received: () => Buffer.concat(chunks).toString('latin1') }
}

/** The head of a message: its first line without the version, and lines of more fields. */
export function head(line: string, more = ''): string {
  return `${line} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
}

/** Unlike `once`, not disturbed by a reset. */
export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise(resolve => socket.on('close', resolve))
}

export async function exchange(port: number, bytes: string): Promise<string> {
  const { socket, received } = openConnection(port)
  socket.write(bytes, 'latin1')
  await new Promise(resolve => socket.on('close', resolve))
  return received()
}
