import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The requests of each connection that are not answered yet: a client may send several, one behind the other. */
export class Exchanges {
  readonly #open = new WeakMap<Socket, Set<ServerResponse>>()

  /** A request has come. */
  begin(response: ServerResponse): void {
    const { socket } = response.req
    const open = this.#open.get(socket)
    if (open === undefined) this.#open.set(socket, new Set([response]))
    else open.add(response)
  }

  /** Its answer was sent, or never will be. */
  end(response: ServerResponse): void {
    this.#open.get(response.req.socket)?.delete(response)
  }

  /** Resolves when every request of a connection that has come whole is answered; gives what is left of the others. */
  async whenAnswered(socket: Socket): Promise<readonly ServerResponse[]> {
    const open = [...(this.#open.get(socket) ?? [])]
    const whole = open.find(response => response.req.complete)
    if (whole === undefined) return open
    await once(whole, 'close')
    return this.whenAnswered(socket)
  }
}
