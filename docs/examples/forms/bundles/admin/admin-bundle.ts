import { createHash, timingSafeEqual } from 'node:crypto'
import { type Bundle, defineSettings, type Request, Response } from 'sinfonietta'

const adminSettings = defineSettings({
  ADMIN_PASSWORD: { help: 'the password of the administrator', secret: true, default: undefined },
})

/** Logs the administrator in and out, and guards routes. */
export const adminBundle: Bundle = {
  name: 'admin',
  settings: adminSettings,
  register({ guards, routes, settings, view }) {
    const { ADMIN_PASSWORD } = settings.of(adminSettings)

    guards.push({
      name: 'admin',
      async check(request) {
        return (await request.session.has('admin')) || request.redirectTo('login')
      },
    })

    const show = async (request: Request, mistake = '', status = 200) => {
      const isAdmin = await request.session.has('admin')
      return Response.html(view.render('admin/login', { isAdmin, mistake }, request), { status })
    }
    const login = async (request: Request) => {
      const password = (await request.formData()).get('password')
      if (ADMIN_PASSWORD === undefined || typeof password !== 'string' || !isEqual(password, ADMIN_PASSWORD)) {
        return show(request, 'This password is wrong.', 422)
      }
      // Another client may know the id of the session: from now on it has a new one.
      await request.session.regenerate()
      await request.session.set('admin', true)
      return request.redirectTo('login')
    }
    const logout = async (request: Request) => {
      await request.session.invalidate()
      return request.redirectTo('login')
    }

    routes.get('login', '/login', request => show(request))
    routes.post('login_send', '/login', login)
    routes.post('logout', '/logout', logout)
  },
}

/** Compares digests, in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
