import type { IncomingMessage } from 'node:http'

const byteLimit = 16 * 1024 * 1024
const timeLimit = 2000

/**
 * Reads what a client still sends of a body that nobody wanted, so that the answer reaches it and the connection can be
 * used again. Who sends more than 16 MiB, or for more than two seconds, is cut off.
 */
export function drain(message: IncomingMessage): void {
  if (message.complete) return
  let left = byteLimit
  const cutOff = () => message.socket.destroy()
  const timer = setTimeout(cutOff, timeLimit)
  message.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) cutOff()
  })
  message.on('close', () => clearTimeout(timer))
  // A connection that breaks off is no news here.
  message.on('error', () => undefined)
  message.resume()
}
