import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A delay in milliseconds that is longer than any test: bytes do not arrive. */
export const never: number = 2 ** 30

/** A proxy of TCP connections to servers of 127.0.0.1. */
export interface StartedProxy {
  readonly port: number
  /** The port of the server, and milliseconds by which bytes arrive later, in both directions. A test changes them. */
  readonly target: { port: number; delay: number }
  /** Ends all connections. */
  disconnect(): void
}

/** Starts a proxy on a free port of 127.0.0.1; it ends with the test. */
export async function startProxy(t: Test, port: number): Promise<StartedProxy> {
  const target = { port, delay: 0 }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    const upstream = connect(target.port, '127.0.0.1')
    const pass = (from: Socket, to: Socket) => {
      from.on('data', bytes => setTimeout(() => to.write(bytes), target.delay).unref())
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      sockets.add(from)
    }
    pass(socket, upstream)
    pass(upstream, socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const disconnect = () => sockets.forEach(socket => void socket.destroy())
  t.teardown(disconnect)
  // It listens on a port.
  return { port: (server.address() as AddressInfo).port, target, disconnect }
}
