import { type Application, HttpError, type Request, RequestEvent, Response } from 'sinfonietta'
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

/** The user of a route with a guard: there always is one. */
export function userOf(request: Request): User {
  const user = request.attributes.get('user')
  if (user === undefined) throw new HttpError(401, 'Log in first.')
  return user
}

/** Leads to the login, with the path of the page that is wanted: after a form, that of the page with the form. */
function askForLogin(request: Request): Response {
  const wanted = request.method === 'GET' ? request.url : (request.headers.get('referer') ?? '')
  const isHere = wanted.startsWith(`${request.origin}/`)
  return request.redirectTo('login', isHere ? { back: wanted.slice(request.origin.length) } : {})
}

/** Leads to the page that was wanted before the login. A path that begins with two slashes would be another host. */
export function redirectAfterLogin(request: Request): Response {
  const back = request.query.get('back') ?? ''
  return /^\/(?![/\\])/.test(back) ? Response.redirect(`${request.origin}${back}`, 303) : request.redirectTo('home')
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
        if (request.attributes.get('user') === undefined && request.attributes.get('_format') !== 'json')
          return askForLogin(request)
        if (![role, 'admin'].includes(userOf(request).role)) throw new HttpError(403, `Only for the role ${role}.`)
        return true
      },
    })
  }
}
