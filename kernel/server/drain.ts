import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'

const byteLimit = 16 * 1024 * 1024
const timeLimit = 2000

/** Whether more of a body is declared than is ever drained: the connection cannot be used again after the answer. */
export function isBeyondDrain(message: IncomingMessage): boolean {
  return !message.complete && Number(message.headers['content-length']) > byteLimit
}

/**
 * Reads what a client still sends of a body that nobody wanted, so that the answer reaches it and the connection can be
 * used again. Who sends more than 16 MiB, or for more than two seconds, is cut off.
 */
export function drain(message: IncomingMessage): void {
  if (message.complete) return
  const { socket } = message
  let left = byteLimit
  const cutOff = () => socket.destroy()
  const timer = setTimeout(cutOff, timeLimit)
  // Node calls it after an answer with `Connection: close`. To close at once what is still sent to would be a reset, and
  // with it many clients lose the answer (RFC 9112, section 9.6).
  socket.destroySoon = () => {
    if (message.complete) Socket.prototype.destroySoon.call(socket)
    else {
      socket.end()
      setTimeout(cutOff, timeLimit).unref()
    }
  }
  message.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) cutOff()
  })
  message.on('close', () => clearTimeout(timer))
  // A connection that breaks off is no news here.
  message.on('error', () => undefined)
  message.resume()
}
