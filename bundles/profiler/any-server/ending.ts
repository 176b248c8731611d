import { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import type { ServerMessage, ServerReply } from '../../../kernel/contracts/servers.ts'
import type { ResponseEnd } from '../../../kernel/events.ts'
import { readProperty } from '../../../lib/text/describe-value.ts'

/** The socket of a message. Of HTTP/2 it is read before the session ends, because then Node refuses it. */
export function socketOf(message: ServerMessage): Socket {
  if (!(message instanceof Http2ServerRequest)) return message.socket
  // A proxy stands for the socket, and each method that returns the socket itself leads behind it.
  return message.stream.session?.socket.off('close', Boolean) ?? message.socket
}

/** How an exchange has ended. Without `streamError`, with which the server has broken it off, the client has left. */
type Ending = Pick<ResponseEnd, 'isSent' | 'streamError'>

/** What is known of an exchange whose reply is closed. */
interface EndedExchange {
  readonly message: ServerMessage
  readonly reply: ServerReply
  readonly socket: Socket
  /**
   * Whether the server has closed the stream of HTTP/2, or has ended the connection: the client
   * does it in the same way.
   */
  readonly isClosedByServer: boolean
  /** The stream that is piped to the reply: its error need not be passed on. */
  readonly source: unknown
  /** The last error of the request that is known. */
  readonly thrown: unknown
}

/** Judges who has ended an exchange: the client by its end of the connection or by a reset; otherwise the server. */
export function judgeEnding(exchange: EndedExchange): Ending {
  const { isSent, error, hasClientLeft } =
    exchange.reply instanceof Http2ServerResponse ? readStream(exchange.reply, exchange) : readReply(exchange)
  if (isSent || hasClientLeft) return { isSent, streamError: undefined }
  return { isSent, streamError: error ?? readProperty(exchange.source, 'errored') ?? exchange.thrown ?? createCut() }
}

interface Evidence {
  readonly isSent: boolean
  readonly error: unknown
  readonly hasClientLeft: boolean
}

function readReply({ isClosedByServer, message, reply, socket }: EndedExchange): Evidence {
  const { errored, writableEnded, writableFinished } = reply as Partial<
    typeof reply & Record<'errored' | 'writableFinished', unknown>
  >
  const isReset = isConnectionLost(socket.errored)
  const isSent = writableEnded === true && writableFinished !== false && !message.aborted && !isReset
  // The server may pass an error on that another connection had.
  const hasEnded = socket.readableEnded && !isClosedByServer
  const hasClientLeft = hasEnded || (isReset && socket.errored !== errored)
  return { isSent, error: errored ?? socket.errored, hasClientLeft }
}

function readStream({ stream }: Http2ServerResponse, { isClosedByServer, socket }: EndedExchange): Evidence {
  const isSent = !stream.aborted && stream.rstCode === 0
  const hasLostSocket = socket.readableEnded || isConnectionLost(socket.errored)
  // A stream that the server destroys is not finished; one that the client resets is.
  const isReset = !socket.destroyed && !isClosedByServer && stream.writableFinished
  return { isSent, error: stream.errored, hasClientLeft: hasLostSocket || isReset }
}

const lostConnection: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

function isConnectionLost(error: Error | null | undefined): boolean {
  return error != null && lostConnection.has(Reflect.get(error, 'code'))
}

/** An error without a place: no code has thrown it. */
function createCut(): Error {
  const error = new Error('The server has broken the response off before it was complete.')
  error.stack = String(error)
  return error
}
