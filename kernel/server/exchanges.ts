import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Request } from '../../lib/http/request.ts'

/** A request, and where its answer goes. */
export interface Exchange {
  readonly request: Request
  readonly target: ServerResponse
}

/** What is known of an exchange while it lasts. */
interface OpenExchange extends Exchange {
  /** By `performance.now()`. */
  readonly start: number
  isAnswered: boolean
}

/** The requests whose answers are not sent yet; a client may send several over one connection, one behind the other. */
export class Exchanges {
  readonly #open = new Map<ServerResponse, OpenExchange>()

  /** A request has come. */
  begin(request: Request, target: ServerResponse): void {
    this.#open.set(target, { request, target, start: performance.now(), isAnswered: false })
  }

  /** Whether nobody has answered it yet; who is told so is the one who does. */
  claim(target: ServerResponse): boolean {
    const exchange = this.#open.get(target)
    if (exchange === undefined || exchange.isAnswered) return false
    exchange.isAnswered = true
    return true
  }

  /** Its answer was sent, or never will be. */
  end(target: ServerResponse): void {
    this.#open.delete(target)
  }

  /** Whether nothing has come over its connection since. */
  isLast(target: ServerResponse): boolean {
    return [...this.#open.keys()].findLast(({ req }) => req.socket === target.req.socket) === target
  }

  /** Whether an answer is written of which not all is on its way yet. */
  get isSending(): boolean {
    return [...this.#open.keys()].some(target => target.writableEnded && !target.writableFinished)
  }

  /** Those whose connection is gone: node tells only the response that was being sent. */
  abandoned(): ServerResponse[] {
    return [...this.#open.keys()].filter(({ req }) => req.socket.destroyed)
  }

  /** Those that have waited for an answer for more than so many milliseconds. */
  overdue(age: number): Exchange[] {
    const limit = performance.now() - age
    return [...this.#open.values()].filter(({ isAnswered, start }) => !isAnswered && start <= limit)
  }

  /** Resolves when every request of a connection that has come whole is answered; gives what is left of the others. */
  async whenAnswered(socket: Socket): Promise<readonly ServerResponse[]> {
    const open = [...this.#open.keys()].filter(({ req }) => req.socket === socket)
    const whole = open.find(({ req }) => req.complete)
    if (whole === undefined) return open
    await once(whole, 'close')
    return this.whenAnswered(socket)
  }
}
