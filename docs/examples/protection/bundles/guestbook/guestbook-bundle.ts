import { type Bundle, type Request, Response, setCookie } from 'sinfonietta'

/** Seconds for which a browser keeps the name of a guest. */
const month = 30 * 86_400

/** Keeps entries in memory. */
export const guestbookBundle: Bundle = {
  name: 'guestbook',
  register({ routes, secrets, view }) {
    const entries = new Map<string, string>([['1', 'A fine place']])

    const show = (request: Request) => {
      const name = secrets.verify('guest', request.cookies.get('guest')) ?? ''
      return Response.html(view.render('guestbook/page', { entries: [...entries], name }, request))
    }
    const write = async (request: Request) => {
      const form = await request.formData()
      entries.set(String(entries.size + 1), String(form.get('text')))
      const response = request.redirectTo('guestbook')
      const name = secrets.sign('guest', String(form.get('name') ?? ''), month)
      setCookie(response.headers, 'guest', name, { maxAge: month, secure: request.scheme === 'https' })
      return response
    }
    const remove = (request: Request) => {
      entries.delete(String(request.attributes.get('_route_params')?.id))
      return request.redirectTo('guestbook')
    }
    const pay = (request: Request) => request.redirectTo('guestbook')
    const list = () => Response.json([...entries.values()])

    routes.get('guestbook', '/guestbook', show)
    routes.add({
      name: 'guestbook_write',
      path: '/guestbook',
      methods: ['POST'],
      defaults: { _rate_limit: { points: 3, duration: 60 } },
      controller: write,
    })
    routes.delete('guestbook_remove', '/guestbook/:id', remove)
    routes.add({
      name: 'guestbook_paid',
      path: '/guestbook/paid',
      methods: ['POST'],
      // The page of the payment service sends the user back by a form.
      defaults: { _cross_origin: ['https://pay.example'] },
      controller: pay,
    })
    routes.add({
      name: 'guestbook_list',
      path: '/guestbook.json',
      methods: ['GET'],
      defaults: { _cors: { origins: ['https://app.example'], maxAge: 3600 } },
      controller: list,
    })
  },
}
