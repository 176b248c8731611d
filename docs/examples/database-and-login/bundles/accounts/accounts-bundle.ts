import { type Bundle, checkedForm, HttpError, type Request, Response } from 'sinfonietta'
import * as v from 'valibot'
import type { Database } from '../database/database.ts'
import { UserListener } from './user-listener.ts'
import { type User, Users } from './users.ts'

const email = v.pipe(v.string(), v.trim(), v.email('This is no email address.'))

const newUser = v.object({
  email,
  name: v.pipe(v.string(), v.trim(), v.nonEmpty('Please enter your name.'), v.maxLength(100)),
  password: v.pipe(v.string(), v.minLength(10, 'A password has at least 10 characters.'), v.maxLength(200)),
})

const credentials = v.object({ email, password: v.string() })

/** Users join, log in and log out. */
export function createAccountsBundle(database: Database): Bundle {
  return {
    name: 'accounts',
    register({ dispatcher, guards, routes, view }) {
      const users = new Users(database)
      new UserListener(users).subscribe(dispatcher)
      view.addGlobal('user', request => request.attributes.get('user'))

      for (const role of ['member', 'admin'] as const) {
        guards.push({
          name: role,
          check(request) {
            const user = request.attributes.get('user')
            if (user === undefined) return request.redirectTo('login')
            if (user.role !== role && user.role !== 'admin') throw new HttpError(403, `Only for the role ${role}.`)
            return undefined
          },
        })
      }

      const show = async (request: Request, template: string, model: object = {}, status = 200) =>
        Response.html(view.render(template, { issues: {}, values: {}, ...model }, request), { status })

      const logIn = async (request: Request, { id }: User) => {
        // Another client may know the id of the session: from now on it has a new one.
        await request.session.regenerate()
        await request.session.set('user', id)
        return request.redirectTo('tools')
      }

      routes.get('join', '/join', request => show(request, 'accounts/join'))
      routes.post('join_send', '/join', { form: checkedForm(newUser) }, async ({ form }, request) => {
        if (form.issues) return show(request, 'accounts/join', form, 422)
        const { email, name, password } = form.value
        const user = await users.add(email, name, password)
        if (user !== undefined) return logIn(request, user)
        const issues = { email: ['There is an account with this address. Log in instead.'] }
        return show(request, 'accounts/join', { issues, values: { email, name } }, 422)
      })
      routes.get('login', '/login', request => show(request, 'accounts/login'))
      routes.post('login_send', '/login', { form: checkedForm(credentials) }, async ({ form }, request) => {
        const user = form.issues ? undefined : await users.authenticate(form.value.email, form.value.password)
        if (user !== undefined) return logIn(request, user)
        return show(request, 'accounts/login', { issues: { '': ['The address or the password is wrong.'] } }, 422)
      })
      routes.post('logout', '/logout', async request => {
        await request.session.invalidate()
        return request.redirectTo('tools')
      })
    },
  }
}
