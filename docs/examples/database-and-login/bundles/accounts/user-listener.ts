import { type EventDispatcher, RequestEvent } from 'sinfonietta'
import type { User, Users } from './users.ts'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** The user who is logged in. Set for main requests. */
    user: User | undefined
  }
}

/** After the router (32), which sets the attributes of the route, and before the guards (16). */
const priority = 20

/** Finds the user of each request. */
export class UserListener {
  readonly #users: Users

  constructor(users: Users) {
    this.#users = users
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  async onRequest(event: RequestEvent): Promise<void> {
    if (!event.isMainRequest) return
    const { attributes, session } = event.request
    if (attributes.get('_stateless') === true) return
    const id = await session.get('user')
    attributes.set('user', typeof id === 'number' ? await this.#users.find(id) : undefined)
  }
}
