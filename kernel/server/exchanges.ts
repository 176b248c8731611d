import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Request } from '../../lib/http/request.ts'

/** A request and the target of its response. */
export interface Exchange {
  readonly request: Request
  readonly target: ServerResponse
}

/** An exchange that has not ended. */
interface OpenExchange extends Exchange {
  /** The time of its arrival, by `performance.now()`. */
  readonly start: number
  isAnswered: boolean
}

/**
 * The requests whose responses are not sent yet. A client may send several requests over one connection (pipelining).
 */
export class Exchanges {
  readonly #open = new Map<ServerResponse, OpenExchange>()

  /** Adds a request. */
  begin(request: Request, target: ServerResponse): void {
    this.#open.set(target, { request, target, start: performance.now(), isAnswered: false })
  }

  /** Marks an exchange as answered. Returns `false` if it was answered before: the caller must not answer it then. */
  claim(target: ServerResponse): boolean {
    const exchange = this.#open.get(target)
    if (exchange === undefined || exchange.isAnswered) return false
    exchange.isAnswered = true
    return true
  }

  /** Removes an exchange: its response was sent, or never will be. */
  end(target: ServerResponse): void {
    this.#open.delete(target)
  }

  /** Whether no later request has arrived over the same connection. */
  isLast(target: ServerResponse): boolean {
    return [...this.#open.keys()].findLast(({ req }) => req.socket === target.req.socket) === target
  }

  /** Whether a response is written but not completely sent. */
  get isSending(): boolean {
    return [...this.#open.keys()].some(target => target.writableEnded && !target.writableFinished)
  }

  /** The targets whose connection is closed. Node itself emits `close` only for the response that was being sent. */
  abandoned(): ServerResponse[] {
    return [...this.#open.keys()].filter(({ req }) => req.socket.destroyed)
  }

  /** The exchanges that have waited for an answer for longer than `age` milliseconds. */
  overdue(age: number): Exchange[] {
    const limit = performance.now() - age
    return [...this.#open.values()].filter(({ isAnswered, start }) => !isAnswered && start <= limit)
  }

  /** Waits until all complete requests of a connection are answered. Returns the targets of the incomplete ones. */
  async whenAnswered(socket: Socket): Promise<readonly ServerResponse[]> {
    const open = [...this.#open.keys()].filter(({ req }) => req.socket === socket)
    const complete = open.find(({ req }) => req.complete)
    if (complete === undefined) return open
    await once(complete, 'close')
    return this.whenAnswered(socket)
  }
}
