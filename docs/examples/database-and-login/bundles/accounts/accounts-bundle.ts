import { type Bundle, checkedForm, type Request, Response } from 'sinfonietta'
import { CommandUsageError, exitCodes } from 'sinfonietta/console'
import * as v from 'valibot'
import type { Database } from '../database/database.ts'
import type { Outbox } from '../mails/outbox.ts'
import { inLanguages } from '../texts/texts-bundle.ts'
import { Attempts } from './attempts.ts'
import { addGuards, logIn, redirectAfterLogin } from './guards.ts'
import { addPasswordReset, email, newPassword } from './password-reset.ts'
import { Users } from './users.ts'

const newUser = v.object({
  email,
  name: v.pipe(v.string(), v.trim(), v.nonEmpty('Please enter your name.'), v.maxLength(100)),
  password: newPassword,
})

const credentials = v.object({ email, password: v.pipe(v.string(), v.maxLength(200)) })

/** Users join, log in and log out. */
export function createAccountsBundle(database: Database, outbox: Outbox): Bundle {
  return {
    name: 'accounts',
    register(app) {
      const users = new Users(database)
      const attempts = new Attempts()
      const { view } = app
      addGuards(app, users)
      view.addGlobal('user', request => request.attributes.get('user'))

      app.routes.group(inLanguages, routes => {
        addPasswordReset(app, routes, users, attempts, outbox)
        const show = async (request: Request, template: string, model: object = {}, status = 200) =>
          Response.html(
            view.render(
              template,
              { issues: {}, values: {}, back: request.query.get('back') ?? undefined, ...model },
              request,
            ),
            { status },
          )

        routes.get('join', '/join', request => show(request, 'accounts/join'))
        routes.post('join_send', '/join', { form: checkedForm(newUser) }, async ({ form }, request) => {
          if (form.issues) return show(request, 'accounts/join', form, 422)
          const { email, name, password } = form.value
          const user = await users.add(email, name, password)
          if (user === undefined) {
            await attempts.count(request, email)
            const issues = { email: ['There is an account with this address. Log in instead.'] }
            return show(request, 'accounts/join', { ...form, issues }, 422)
          }
          await logIn(request, user)
          return redirectAfterLogin(request)
        })
        routes.get('login', '/login', request => show(request, 'accounts/login'))
        routes.post('login_send', '/login', { form: checkedForm(credentials) }, async ({ form }, request) => {
          const email = String(form.values.email)
          await attempts.count(request, email)
          const user = form.value && (await users.authenticate(email, form.value.password))
          if (user === undefined) {
            const issues = { '': ['The address or the password is wrong.'] }
            return show(request, 'accounts/login', { ...form, issues }, 422)
          }
          await attempts.forget(request, email)
          await logIn(request, user)
          return redirectAfterLogin(request)
        })
        routes.post('logout', '/logout', async request => {
          await request.session.invalidate()
          return request.redirectTo('home')
        })
      })

      app.commands.push({
        name: 'accounts:role',
        description: 'Gives a user a role',
        arguments: [
          { name: 'email', description: 'the address of the user' },
          { name: 'role', description: 'the role', choices: ['member', 'admin'] },
        ],
        async run({ arguments: { email = '', role } }, output) {
          if (!(await users.setRole(email, role === 'admin' ? role : 'member'))) {
            throw new CommandUsageError(`There is no user with the address ${email}.`)
          }
          output.print({ blocks: [{ kind: 'text', text: `${email} has the role ${role}.` }], json: { email, role } })
          return exitCodes.success
        },
      })
    },
  }
}
