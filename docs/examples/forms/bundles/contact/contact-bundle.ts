import path from 'node:path'
import {
  type Bundle,
  checkedForm,
  createFileResponse,
  defineController,
  type Request,
  Response,
  routeParameter,
  type ViewModel,
} from 'sinfonietta'
import { messageSchema } from './message.ts'
import { MessageFolder } from './message-folder.ts'

/** Accepts messages by a form. */
export const contactBundle: Bundle = {
  name: 'contact',
  register({ directory, routes, view }) {
    const folder = new MessageFolder(path.join(directory, 'var/contact'))

    const show = async (request: Request, form: ViewModel = { issues: {}, values: {} }, status = 200) => {
      const notices = await request.session.flashes('notice')
      return Response.html(view.render('contact/form', { notices, ...form }, request), { status })
    }
    routes.get('contact', '/contact', request => show(request))
    routes.post('contact_send', '/contact', { form: checkedForm(messageSchema) }, async ({ form }, request) => {
      if (form.issues !== undefined) return show(request, form, 422)
      await folder.keep(form.value)
      await request.session.flash('notice', `Thank you, ${form.value.name}.`)
      return request.redirectTo('contact')
    })
    routes.add({
      name: 'contact_picture',
      path: '/contact/pictures/:id',
      methods: ['GET'],
      requirements: { id: /[0-9a-f-]{36}/ },
      // Of the admin bundle.
      guard: 'admin',
      controller: defineController('contact_picture', { id: routeParameter() }, ({ id }, request) =>
        createFileResponse(request, `${id}.picture`, { root: folder.directory, name: 'picture' }),
      ),
    })
  },
}
