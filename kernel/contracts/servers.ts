import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Request } from '../../lib/http/request.ts'
import type { RequestContext } from '../request-context.ts'

/** A request as a server of Node receives it. */
export type ServerMessage = IncomingMessage | Http2ServerRequest

/** The response to a message. */
export type ServerReply = ServerResponse | Http2ServerResponse

/**
 * One observed request. Of a reply that waits behind the last one of its connection, Node never emits `close`: it has
 * no `end`. The methods are called in the order of the events of the exchange; an error that they throw is reported.
 */
export interface ObservedExchange {
  /** The request that the code of the application works for. */
  readonly request: Request
  /** The parser passes on a part of the body; `null` at its end. */
  receive(chunk: unknown): void
  /** The application begins to read the body; or it gets a part of it. */
  beginReading(hasPart: boolean): void
  /**
   * Returns fields that are added to the head of the response. `given` are the names, in lower
   * case, of those that `writeHead` was called with.
   */
  fieldsFor(given: readonly string[]): Readonly<Record<string, string>> | undefined
  /** The head of the response was written. */
  noteHead(): void
  /**
   * The application ends the response with the rest of its body, or with all of it. Returns
   * another body that is sent instead.
   */
  replaceEnd(chunk: string | Uint8Array, encoding: unknown): Uint8Array | undefined
  /** A part of the body of the response was written; the encoding is that of a text. */
  send(chunk: string | Uint8Array, encoding: unknown): void
  /** The application writes to a response that it has ended or begun: Node refuses that with this error. */
  fail(error: unknown): void
  /** The application has ended the response. */
  finish(): void
  /** The server closes the stream of HTTP/2, or ends the connection. */
  closeStream(): void
  /** A stream is piped to the response. */
  pipe(source: unknown): void
  /** The client has taken what was written: the response may go on. */
  drain(): void
  /**
   * The server has answered an upgrade with a head, which it has written to the socket itself;
   * `undefined` if it has not, and the socket is closed.
   */
  endUpgrade(head: string | undefined): void
  /** The response was sent, the client has left, or the server has broken the response off. */
  end(): void
}

/** What observes servers. */
export interface ServerObserver {
  readonly context: Pick<RequestContext, 'current' | 'enter'>
  /**
   * Begins an exchange before the application sees its message; `undefined` if it is not observed.
   * The reply of an upgrade is never sent.
   */
  begin(message: ServerMessage, reply: ServerReply): ObservedExchange | undefined
  /** The server ends a connection that its client has not ended. */
  endSocket?(socket: object): void
  /**
   * Answers a message in the place of the application, and returns whether it does. It was passed to `begin` before.
   */
  readonly answer?: ((message: IncomingMessage, reply: ServerResponse) => boolean) | undefined
}

/** A property leads to the exchange: the values of a WeakMap survive minor garbage collections. */
const exchangeKey: unique symbol = Symbol('exchange')

/** Notes the exchange of a message, of a reply, or of their stream. */
export function noteExchange(part: object, exchange: ObservedExchange): void {
  // Not enumerable: the application may print its request.
  Object.defineProperty(part, exchangeKey, { value: exchange })
}

/** The exchange of a message, or of a reply; `undefined` if it is not observed. */
export function exchangeOf(part: object): ObservedExchange | undefined {
  return (part as { readonly [exchangeKey]?: ObservedExchange })[exchangeKey]
}
