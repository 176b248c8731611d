import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The requests that are not answered yet; a client may send several over one connection, one behind the other. */
export class Exchanges {
  /** When each began, by `performance.now()`. */
  readonly #open = new Map<ServerResponse, number>()

  /** A request has come. */
  begin(response: ServerResponse): void {
    this.#open.set(response, performance.now())
  }

  /** Its answer was sent, or never will be. */
  end(response: ServerResponse): void {
    this.#open.delete(response)
  }

  /** Those whose connection is gone: node tells only the response that was being sent. */
  abandoned(): ServerResponse[] {
    return [...this.#open.keys()].filter(({ req }) => req.socket.destroyed)
  }

  /** Those that are older than so many milliseconds. */
  olderThan(age: number): ServerResponse[] {
    const limit = performance.now() - age
    return [...this.#open].filter(([, start]) => start <= limit).map(([response]) => response)
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
