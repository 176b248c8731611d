import { Readable } from 'node:stream'
import { type Application, asInteger, type Bundle, HttpError } from 'sinfonietta'
import { queryValue, routeParameter } from '#kernel/argument-sources.ts'
import { type Controller, defineController } from '#kernel/controller.ts'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import type { RouteDefinition } from '#lib/routing/route.ts'

/** Routes that show every behaviour of the kernel: those of the conformance cases, and some that only tests need. */
export const probeBundle: Bundle = {
  name: 'probe',
  register(app) {
    const definitions = [...routing(), ...kinds(), ...errors(), ...requests(app)]
    for (const definition of definitions) app.routes.add(definition)
    app.dispatcher.on(ProbeEvent, event => event.heard.push('first'), 10)
    app.dispatcher.on(ProbeEvent, event => event.heard.push('second'))
    app.dispatcher.on(ProbeEvent, event => event.heard.push('secondB'))
    app.dispatcher.on(ProbeEvent, event => event.stop(), -5)
    app.dispatcher.on(ProbeEvent, event => event.heard.push('never'), -10)
  },
}

class ProbeEvent extends Event {
  static readonly eventName = 'probe.happened'
  readonly heard: string[] = []

  stop(): void {
    this.heard.push('stopper')
    this.stopPropagation()
  }
}

type Definition = RouteDefinition & { readonly controller: Controller }

function routing(): Definition[] {
  const id = routeParameter('id', asInteger)
  return [
    {
      name: 'item',
      path: '/item{/:id}',
      methods: ['GET', 'HEAD'],
      requirements: { id: /\d+/ },
      defaults: { id: '7' },
      controller: defineController('item', { value: id }, ({ value }) => Response.html(`<body>item ${value}</body>`)),
    },
    { name: 'multi_get', path: '/multi', methods: ['GET'], controller: says('multi get') },
    { name: 'multi_change', path: '/multi', methods: ['PUT', 'DELETE'], controller: says('multi change') },
    { name: 'slash', path: '/slash/', controller: says('slash') },
    { name: 'slashpost', path: '/slashpost/', methods: ['POST'], controller: says('slashpost') },
    { name: 'noslash', path: '/noslash', controller: says('noslash') },
    {
      name: 'slug',
      path: '/slug/:slug{.:_format}',
      requirements: { _format: /html|json|xml/ },
      defaults: { _format: 'html' },
      controller: defineController(
        'slug',
        { slug: routeParameter(), format: routeParameter('_format') },
        ({ slug, format }) => new Response(`slug ${slug} ${format}`),
      ),
    },
    { name: 'prio', path: '/prio/:x', controller: shows('prio', 'x') },
    { name: 'prio_static', path: '/prio/static', controller: says('prio static') },
    { name: 'prio2_a', path: '/prio2/:x', controller: shows('a', 'x') },
    { name: 'prio2_b', path: '/prio2/:y', priority: 5, controller: shows('b', 'y') },
    {
      name: 'u',
      path: '/u/:name',
      controller: defineController('u', { name: routeParameter() }, ({ name }) =>
        Response.html(`u ${Buffer.from(name).toString('hex')}`),
      ),
    },
    { name: 'utf', path: '/utf/é', controller: says('utf') },
    { name: 'wild', path: '/wild/*rest', controller: shows('wild', 'rest') },
    {
      name: 'opt',
      path: '/opt{/:a{/:b}}',
      defaults: { a: 'A', b: 'B' },
      controller: defineController('opt', { a: routeParameter(), b: routeParameter() }, ({ a, b }) =>
        Response.html(`opt ${a} ${b}`),
      ),
    },
    { name: 'hosted', path: '/hosted', host: 'admin.example.test', controller: says('hosted') },
    {
      name: 'hostparam',
      path: '/hostparam',
      host: ':sub.example.test',
      requirements: { sub: /[a-z]+/ },
      controller: shows('sub', 'sub'),
    },
    { name: 'secure', path: '/secure', schemes: ['https'], controller: says('secure') },
    {
      name: 'cond',
      path: '/cond',
      condition: request => request.headers.get('x-probe') === 'yes',
      controller: says('cond'),
    },
    { name: 'post_only', path: '/post-only', methods: ['POST'], controller: says('post-only') },
  ]
}

function kinds(): Definition[] {
  const status = routeParameter('status', asInteger)
  return [
    { name: 'text', path: '/text', controller: returns('text', () => Response.text('text')) },
    { name: 'frag', path: '/frag', controller: says('<p>no end of a body</p>') },
    { name: 'body_upper', path: '/body-upper', controller: says('<HTML><BODY>upper</BODY></HTML>') },
    {
      name: 'download',
      path: '/download',
      controller: returns('download', () =>
        Response.html('<body></body>', { headers: { 'content-disposition': 'attachment; filename="a.html"' } }),
      ),
    },
    { name: 'empty', path: '/empty', controller: returns('empty', () => new Response()) },
    { name: 'json', path: '/json', controller: returns('json', () => Response.json({ ok: true })) },
    { name: 'redir', path: '/redir', controller: returns('redir', () => Response.redirect('/noslash')) },
    { name: 'redir301', path: '/redir301', controller: returns('redir301', () => Response.redirect('/noslash', 301)) },
    {
      name: 'status',
      path: '/status/:status',
      controller: defineController('status', { status }, ({ status }) =>
        Response.html('<body>status</body>', { status }),
      ),
    },
    {
      name: 'stream',
      path: '/stream',
      controller: returns('stream', () => Response.stream(Readable.from(['one ', 'two ', 'three']))),
    },
    {
      name: 'stream_fails',
      path: '/stream-fails',
      controller: returns('stream_fails', () => Response.stream(Readable.from(failing()))),
    },
  ]
}

function errors(): Definition[] {
  return [
    throws('/boom', () => new Error('Boom "quoted" <b>é</b> & 100%')),
    throws('/boom-multiline', () => new Error('line one\nline two')),
    throws('/boom-empty', () => new Error('')),
    throws('/boom-text', () => 'just text'),
    throws(
      '/teapot',
      () => new HttpError(418, 'short and stout', { headers: { 'x-tea': 'green', 'retry-after': '5' } }),
    ),
    throws('/denied', () => new HttpError(403, 'no entry')),
    throws('/gone', () => new HttpError(404, 'nothing here', { cause: new Error('the previous one') })),
    throws('/unauth', () => new HttpError(401, 'login', { headers: { 'www-authenticate': 'Basic realm="x"' } })),
    throws('/unavailable', () => new HttpError(503, 'back soon', { headers: { 'retry-after': '120' } })),
    { name: 'nothing', path: '/nothing', controller: defineController('nothing', () => undefined) },
    { name: 'array', path: '/array', controller: defineController('array', () => ['a']) },
  ]
}

function requests({ dispatcher, kernel }: Application): Definition[] {
  const sub = defineController('sub', { id: routeParameter(), tag: routeParameter() }, ({ id, tag }) =>
    Response.html(`sub ${id} ${tag}`),
  )
  return [
    {
      name: 'ok',
      path: '/ok',
      methods: ['GET', 'POST'],
      controller: defineController('ok', async request => {
        // An answer before the end of the body would not depend on a broken body.
        await request.body.bytes()
        return Response.html('<body>ok</body>')
      }),
    },
    {
      name: 'echo',
      path: '/echo',
      methods: ['POST'],
      defaults: { _body_limit: 64 * 1024 },
      controller: defineController('echo', async request => Response.text(await request.text())),
    },
    {
      name: 'form',
      path: '/form',
      methods: ['POST'],
      controller: defineController('form', async request => {
        const fields = [...(await request.formData())]
        return Response.json(fields.map(([name, value]) => [name, typeof value === 'string' ? value : value.size]))
      }),
    },
    {
      name: 'count',
      path: '/count',
      controller: defineController('count', async ({ session }) => {
        const count = Number((await session.get('count')) ?? 0) + 1
        await session.set('count', count)
        return Response.html(`count ${count}`)
      }),
    },
    {
      name: 'stateless',
      path: '/stateless',
      defaults: { _stateless: true },
      controller: defineController('stateless', async ({ session }) =>
        Response.html(String(await session.get('count'))),
      ),
    },
    {
      name: 'query',
      path: '/query',
      controller: defineController('query', { page: queryValue(asInteger, 1) }, ({ page }) =>
        Response.html(`page ${page}`),
      ),
    },
    {
      name: 'forward',
      path: '/forward',
      controller: defineController('forward', request => kernel.forward(request, sub, { id: 9, tag: 'z' })),
    },
    {
      name: 'embed',
      path: '/embed',
      controller: defineController('embed', async request => {
        const embedded = await kernel.forward(request, sub, { id: 9, tag: 'z' })
        return Response.html(`<body>around ${embedded.body}</body>`)
      }),
    },
    {
      name: 'inner_failure',
      path: '/inner-failure',
      controller: defineController('inner_failure', request =>
        kernel.handle(request.duplicate({ target: '/boom' }), { catchErrors: false }),
      ),
    },
    {
      name: 'events',
      path: '/events',
      controller: defineController('events', async () => {
        const event = new ProbeEvent()
        await dispatcher.dispatch(event)
        return Response.html(event.heard.join())
      }),
    },
    {
      name: 'slow',
      path: '/slow/:id',
      controller: defineController('slow', { id: routeParameter() }, async ({ id }, request) => {
        await new Promise(resolve => setTimeout(resolve, Number(id) % 7))
        return Response.html(`slow ${id} ${request.attributes.get('_route_params')?.id} ${request.query.get('id')}`)
      }),
    },
  ]
}

function returns(name: string, create: () => Response): Controller {
  return defineController(name, create)
}

function says(text: string): Controller {
  return returns(text, () => Response.html(text))
}

function shows(label: string, parameter: string): Controller {
  return defineController(label, { value: routeParameter(parameter) }, ({ value }) =>
    Response.html(`${label} ${value}`),
  )
}

function throws(path: string, create: () => unknown): Definition {
  const name = path.slice(1).replaceAll('-', '_')
  const controller = defineController(name, () => {
    throw create()
  })
  return { name, path, controller }
}

async function* failing(): AsyncGenerator<string> {
  yield 'one '
  throw new Error('the source has dried up')
}
