import { type EventDispatcher, HttpError, RequestEvent, Response, type UrlGenerator } from 'sinfonietta'
import type { Role, User, Users } from './users.ts'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** The user who is logged in. Set for main requests. */
    user: User | undefined
    /** Route: only users with this role get an answer. */
    _role: Role
  }
}

/** After the router (32), which sets the attributes of the route, and before the body is read (10). */
const priority = 20

/** Finds the user of each request, and guards the routes with a `_role`. */
export class UserListener {
  readonly #users: Users
  readonly #urls: UrlGenerator

  constructor(users: Users, urls: UrlGenerator) {
    this.#users = users
    this.#urls = urls
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  async onRequest(event: RequestEvent): Promise<void> {
    if (!event.isMainRequest) return
    const { attributes, session } = event.request
    if (attributes.get('_stateless') === true) return
    const id = await session.get('user')
    const user = typeof id === 'number' ? await this.#users.find(id) : undefined
    attributes.set('user', user)
    const role = attributes.get('_role')
    if (role === undefined) return
    if (user === undefined) event.respond(Response.redirect(this.#urls.generate('login'), 303))
    else if (user.role !== role && user.role !== 'admin') throw new HttpError(403, `Only for the role ${role}.`)
  }
}
