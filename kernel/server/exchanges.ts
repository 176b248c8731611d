import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { StreamProgress } from './to-node.ts'

/** Milliseconds: see the options of the server. */
interface ExchangeTimeouts {
  readonly answerTimeout: number
  readonly idleTimeout: number
}

/** A request, its response, and the target to which the response is sent. */
export class Exchange {
  readonly request: Request
  readonly target: ServerResponse
  /** The response that is being sent; `undefined` until the request is answered. */
  response: Response | undefined
  /** Whether the response is the error page in place of a stream that failed. */
  isErrorPage: boolean
  /** Whether the connection was made a WebSocket. */
  isUpgraded: boolean
  /** The error of the response's stream, after the head was sent. */
  streamError: unknown
  /** How much of the response's stream was sent; `undefined` if the response is no stream. */
  progress: StreamProgress | undefined
  /** The time of the first call of `watch`, by `performance.now()`. */
  watchedSince: number | undefined
  /** Whether the exchange is in the list of open exchanges; the neighbours in this list. */
  isOpen: boolean
  previous: Exchange | undefined
  next: Exchange | undefined

  constructor(request: Request, target: ServerResponse) {
    this.request = request
    this.target = target
    this.response = undefined
    this.isErrorPage = false
    this.isUpgraded = false
    this.isOpen = true
    this.streamError = undefined
    this.progress = undefined
    this.watchedSince = undefined
    this.previous = undefined
    this.next = undefined
  }

  /** Whether the whole response was sent, or the connection was made a WebSocket. */
  get wasSent(): boolean {
    const { req, writableFinished } = this.target
    // Before version 24, `writableFinished` is also true if the connection was destroyed before
    // the end of the response.
    return this.isUpgraded || (writableFinished && (!req.socket.destroyed || req.socket.writableFinished))
  }

  /**
   * Called from time to time: ends the exchange of a closed connection, and begins to watch an
   * open one for traffic. Returns whether the request waits too long for its response.
   */
  watch({ answerTimeout, idleTimeout }: ExchangeTimeouts): boolean {
    const { socket } = this.target.req
    // Node itself emits `close` only for the response that was being sent.
    if (socket.destroyed) this.target.emit('close')
    const now = performance.now()
    if (this.watchedSince === undefined) {
      this.watchedSince = now
      // A client that does not read a response keeps the rest of it in memory. Most exchanges end before they
      // are watched: a timer for each of them would cost more.
      socket.setTimeout(idleTimeout)
    }
    return this.response === undefined && now - this.watchedSince >= answerTimeout
  }
}

/**
 * The exchanges whose responses are not sent yet, in the order of their arrival. A client may send
 * several requests over one connection (pipelining). A linked list: a map of keys that live for a
 * moment keeps the garbage collector busy.
 */
export class Exchanges implements Iterable<Exchange> {
  #first: Exchange | undefined
  #last: Exchange | undefined

  /** Adds a request. */
  begin(request: Request, target: ServerResponse): Exchange {
    const exchange = new Exchange(request, target)
    exchange.previous = this.#last
    if (this.#last === undefined) this.#first = exchange
    else this.#last.next = exchange
    this.#last = exchange
    return exchange
  }

  /** Removes an exchange: its response was sent, or never will be. Returns `false` if it was removed before. */
  end(exchange: Exchange): boolean {
    if (!exchange.isOpen) return false
    const { next, previous } = exchange
    exchange.isOpen = false
    // An old exchange must not keep later ones from the garbage collector.
    exchange.next = undefined
    exchange.previous = undefined
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    return true
  }

  /** Whether no later request has arrived over the same connection. */
  isLast({ next, target }: Exchange): boolean {
    for (let later = next; later !== undefined; later = later.next) {
      if (later.target.req.socket === target.req.socket) return false
    }
    return true
  }

  /** Whether a response is written but not completely sent. */
  get isSending(): boolean {
    return [...this].some(({ target }) => target.writableEnded && !target.writableFinished)
  }

  /** Waits until all complete requests of a connection are answered. Returns the exchanges of the incomplete ones. */
  async whenAnswered(socket: Socket): Promise<readonly Exchange[]> {
    const open = [...this].filter(({ target }) => target.req.socket === socket)
    const complete = open.find(({ target }) => target.req.complete)
    if (complete === undefined) return open
    await once(complete.target, 'close')
    return this.whenAnswered(socket)
  }

  *[Symbol.iterator](): Iterator<Exchange> {
    for (let exchange = this.#first; exchange !== undefined; exchange = exchange.next) yield exchange
  }
}
