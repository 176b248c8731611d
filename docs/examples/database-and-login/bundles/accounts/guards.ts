import { type Application, HttpError, type Request, RequestEvent } from 'sinfonietta'
import type { User, Users } from './users.ts'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** The user who is logged in. Set for main requests. */
    user: User | undefined
  }
}

/** Begins a session of a user. */
export async function logIn({ session }: Request, { id, passwordVersion }: User): Promise<void> {
  // Another client may know the id of the session: from now on it has a new one.
  await session.regenerate()
  await session.set('user', [id, passwordVersion])
}

/** After the router (32), which sets the attributes of the route, and before the guards (16). */
const priority = 20

/** Finds the user of each request, and adds a guard for each role. */
export function addGuards({ dispatcher, guards }: Pick<Application, 'dispatcher' | 'guards'>, users: Users): void {
  dispatcher.on(
    RequestEvent,
    async ({ isMainRequest, request: { attributes, session } }) => {
      if (!isMainRequest || attributes.get('_stateless') === true) return
      const stored = await session.get('user')
      const [id, version] = Array.isArray(stored) ? stored : []
      attributes.set('user', id === undefined ? undefined : await users.find(Number(id), Number(version)))
    },
    priority,
  )
  for (const role of ['member', 'admin'] as const) {
    guards.push({
      name: role,
      check(request) {
        const user = request.attributes.get('user')
        if (user === undefined) {
          if (request.attributes.get('_format') === 'json') throw new HttpError(401, 'Log in first.')
          return request.redirectTo('login')
        }
        if (user.role !== role && user.role !== 'admin') throw new HttpError(403, `Only for the role ${role}.`)
        return true
      },
    })
  }
}
