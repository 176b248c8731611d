import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { until } from './until.ts'

/** Connections to a server that send bytes as they are, and keep what they receive. They are closed with the test. */
export function createSender(t: Test, port: number) {
  const received = new WeakMap<Socket, string>()
  return {
    /** Connects, and sends a first text. More of it is written to the returned socket. */
    send(text: string): Socket {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      received.set(socket, '')
      socket.setEncoding('latin1').on('error', () => undefined)
      socket.on('data', chunk => received.set(socket, received.get(socket) + String(chunk)))
      socket.write(text)
      t.teardown(() => void socket.destroy())
      return socket
    },
    /** Waits until a text was received, and returns all of it. */
    async isAnswered(socket: Socket, text: string): Promise<string> {
      await until(() => received.get(socket)?.includes(text))
      return String(received.get(socket))
    },
  }
}
