import {
  type Application,
  checkedForm,
  HttpError,
  type Request,
  Response,
  type Routes,
  routeParameter,
  TerminateEvent,
} from 'sinfonietta'
import * as v from 'valibot'
import type { Outbox } from '../mails/outbox.ts'
import { translate } from '../texts/texts-bundle.ts'
import type { Attempts } from './attempts.ts'
import { logIn } from './guards.ts'
import type { Users } from './users.ts'

export const email = v.pipe(v.string(), v.trim(), v.maxLength(200), v.email('This is no email address.'))

export const newPassword = v.pipe(
  v.string(),
  v.minLength(10, 'A password has at least 10 characters.'),
  v.maxLength(200),
)

/** The links of mails are valid for an hour, and until the password changes. */
const hour = 3600

/** Users who have forgotten their password get a mail with a link, by which they choose another one. */
export function addPasswordReset(
  app: Application,
  routes: Routes,
  users: Users,
  attempts: Attempts,
  outbox: Outbox,
): void {
  const { dispatcher, secrets, urls, view } = app
  const requested = new WeakMap<Request, string>()

  const show = async (request: Request, template: string, model: object = {}, status = 200) =>
    Response.html(view.render(template, { issues: {}, values: {}, ...model }, request), { status })

  routes.get('forgot', '/password', request => show(request, 'accounts/forgot'))
  routes.post('forgot_send', '/password', { form: checkedForm(v.object({ email })) }, async ({ form }, request) => {
    if (form.issues) return show(request, 'accounts/forgot', form, 422)
    await attempts.count(request, form.value.email)
    requested.set(request, form.value.email)
    return show(request, 'accounts/forgot', { isSent: true })
  })
  // After the response: neither the answer nor its time shows which addresses are known.
  dispatcher.on(TerminateEvent, async ({ request }) => {
    const to = requested.get(request)
    const user = to === undefined ? undefined : await users.findByEmail(to)
    if (to === undefined || user === undefined) return
    const token = secrets.sign('password-reset', `${user.id}.${user.passwordVersion}`, hour)
    const url = urls.generate('reset', { token }, { absolute: true, request })
    const hello = translate(request, 'Hello {{name}},', { name: user.name })
    const text = `${hello}\n\n${translate(request, 'You can choose another password here, within an hour:')}\n\n${url}\n`
    await outbox.add({ to, subject: translate(request, 'Your password'), text })
  })

  const findUser = async (token: string) => {
    const [id, version] = secrets.verify('password-reset', token)?.split('.') ?? []
    const user = id === undefined ? undefined : await users.find(Number(id), Number(version))
    if (user === undefined) throw new HttpError(410, 'This link is no longer valid. Please ask for another one.')
    return user
  }
  const token = routeParameter()
  routes.get('reset', '/password/:token', { token }, async ({ token }, request) => {
    await findUser(token)
    return show(request, 'accounts/reset')
  })
  const form = checkedForm(v.object({ password: newPassword }))
  routes.post('reset_send', '/password/:token', { token, form }, async ({ form, token }, request) => {
    const user = await findUser(token)
    if (form.issues) return show(request, 'accounts/reset', form, 422)
    const changed = await users.changePassword(user, form.value.password)
    if (changed === undefined) throw new HttpError(410, 'This link is no longer valid. Please ask for another one.')
    await logIn(request, changed)
    return request.redirectTo('home')
  })
}
