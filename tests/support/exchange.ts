import { connect } from 'node:net'

/** Bytes to send over a connection of their own, and how. */
export interface Sending {
  readonly bytes: Buffer
  /** Bytes in each piece; the default is all at once. */
  readonly pieceLength?: number
  /** What is done when everything was sent: the sending side is closed, or the connection is torn down. */
  readonly ending?: 'close' | 'reset'
}

/** What came back. */
export interface Received {
  /** Interim ones included, in their order. */
  readonly statuses: readonly number[]
  readonly text: string
  /** Whether the server has closed the connection. */
  readonly isClosed: boolean
}

/** Milliseconds: so long nothing has come at all, so long nothing more has come, so long all of it may take. */
const silent = 1500
const quiet = 160
const limit = 6000

/**
 * Sends bytes and gives what comes back until the server closes the connection or falls silent.
 * Never rejects. With more patience, silence may last so many times as long.
 */
export async function exchange(port: number, sending: Sending, patience = 1): Promise<Received> {
  const { bytes, ending, pieceLength } = sending
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const chunks: Buffer[] = []
  let isClosed = false
  const over = new Promise<void>(resolve => {
    const close = () => {
      isClosed = true
      resolve()
    }
    let timer = setTimeout(resolve, patience * limit)
    socket.on('data', chunk => {
      chunks.push(chunk)
      clearTimeout(timer)
      timer = setTimeout(resolve, patience * quiet)
    })
    socket.on('sent', () => {
      clearTimeout(timer)
      timer = setTimeout(resolve, patience * silent)
    })
    socket.on('end', close).on('error', close).on('close', close)
  })
  for (const piece of cut(bytes, pieceLength)) await new Promise(resolve => socket.write(piece, resolve))
  if (ending === 'close') socket.end()
  if (ending === 'reset') socket.resetAndDestroy()
  socket.emit('sent')
  await over
  socket.destroy()
  const text = Buffer.concat(chunks).toString('latin1')
  return { statuses: parseStatuses(text), text, isClosed }
}

function cut(bytes: Buffer, length = bytes.length): Buffer[] {
  const count = length === 0 ? 0 : Math.ceil(bytes.length / length)
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * length, (index + 1) * length))
}

/** The statuses of the responses in a text, by their own framing (RFC 9112, section 6.3). */
function parseStatuses(text: string): number[] {
  const statuses: number[] = []
  let rest = text
  while (rest.startsWith('HTTP/1.1 ') && rest.includes('\r\n\r\n')) {
    const end = rest.indexOf('\r\n\r\n') + 4
    const head = rest.slice(0, end)
    const status = Number(head.slice(9, 12))
    statuses.push(status)
    rest = rest.slice(end)
    // The answer to HEAD has a length and no body.
    if (status < 200 || rest.startsWith('HTTP/1.1 ')) continue
    rest = rest.slice(/\r\ntransfer-encoding: chunked/i.test(head) ? chunkedLength(rest) : declaredLength(head))
  }
  return statuses
}

function declaredLength(head: string): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(`${head}\r\ncontent-length: 0`)?.[1])
}

function chunkedLength(text: string): number {
  return text.search(/0\r\n\r\n|$/) + 5
}
