import { Request } from 'sinfonietta'
import { t } from 'tap'
import { findHiddenRoutes } from '#lib/routing/hidden-routes.ts'
import type { ParametersOf, RouteDefinition } from '#lib/routing/route.ts'
import { RouteCollection, type RouteDeclarations } from '#lib/routing/route-collection.ts'
import { RouteMatcher } from '#lib/routing/route-matcher.ts'

const base: RouteDefinition = { name: 'page', path: '/page', controller: undefined }

/** Any controller that is not a function, so that functions have the type of the route. */
interface Named {
  readonly name: string
  readonly apply?: never
}

function answer(): undefined {}

function find(routes: RouteCollection<Named>, target: string, host = 'a.test'): unknown {
  const match = new RouteMatcher(routes).match(new Request({ target, headers: { host } }))
  return match.outcome === 'match' ? { ...match.parameters, _route: match.route.name } : match.outcome
}

t.test('a collection is in the order of priority, then of declaration', async t => {
  const routes = new RouteCollection()
  for (const [name, priority] of Object.entries({ a: 0, b: 5, c: -1, d: 5, e: 0 })) {
    routes.add({ ...base, name, priority })
  }
  t.equal(routes.add({ ...base, name: 'f' }).priority, 0)
  t.same([...routes].map(route => route.name).join(''), 'bdaefc')
  t.same([...routes.names].join(''), 'abcdef')
  t.equal(routes.size, 6)
  t.equal(routes.find('c')?.priority, -1)
  t.equal(routes.find('z'), undefined)
})

t.test('a name belongs to one route, an alias too', async t => {
  const routes = new RouteCollection()
  const page = routes.add({ ...base, aliases: ['leaf'] })
  t.throws(() => routes.add({ ...base, path: '/other' }), {
    code: 'ROUTE_NAME_TAKEN',
    message: 'The name "page" cannot be given to the route /other: the route /page already has it; choose another one.',
  })
  const taken = (name: string, aliases: string[]) => {
    t.throws(() => routes.add({ ...base, name, aliases }), { code: 'ROUTE_NAME_TAKEN' }, `${name} ${aliases}`)
  }
  taken('leaf', [])
  taken('other', ['page'])
  taken('other', ['leaf'])
  t.equal(routes.size, 1)
  t.equal(routes.findByAlias('leaf'), page)
  t.equal(routes.find('leaf'), undefined)
  t.strictSame([...routes.names], ['page'])
})

t.test('a short form declares name, path and method', async t => {
  const routes = new RouteCollection()
  const declared = [
    routes.get('list', '/books', answer),
    routes.post('create', '/books', answer),
    routes.put('replace', '/books/:id', answer),
    routes.patch('change', '/books/:id', answer),
    routes.delete('remove', '/books/:id', answer),
  ]
  t.strictSame(
    declared.map(({ controller, methods, name, path }) => [name, methods, path.source, controller]),
    [
      ['list', ['GET'], '/books', answer],
      ['create', ['POST'], '/books', answer],
      ['replace', ['PUT'], '/books/:id', answer],
      ['change', ['PATCH'], '/books/:id', answer],
      ['remove', ['DELETE'], '/books/:id', answer],
    ],
  )
  t.strictSame([...routes], declared)
})

t.test('a group gives its routes prefixes, defaults, requirements, host, schemes and a condition', async t => {
  const routes = new RouteCollection<Named>()
  const isOpen = (request: Request) => request.query.has('open')
  const options = {
    prefix: '/:_locale/admin',
    name: 'admin_',
    defaults: { _role: 'admin', page: 1 },
    requirements: { _locale: /en|de/, id: /\d+/ },
    host: 'a.test',
    condition: isOpen,
  } as const
  routes.group(options, group => {
    group.get('home', '', answer)
    group.get('user', '/users/:id', answer)
    group.add({
      name: 'page',
      path: '/pages/:id{/:page}',
      controller: answer,
      aliases: ['old_page'],
      defaults: { _role: 'reader' },
      requirements: { id: /[a-z]+/ },
      host: 'b.test',
      condition: request => request.query.has('mine'),
    })
  })
  t.strictSame(
    [...routes].map(({ name }) => name),
    ['admin_home', 'admin_user', 'admin_page'],
  )
  t.strictSame(find(routes, '/en/admin?open'), { _locale: 'en', _role: 'admin', page: 1, _route: 'admin_home' })
  t.equal(find(routes, '/en/admin'), 'not-found', 'the condition')
  t.equal(find(routes, '/fr/admin?open'), 'not-found', 'the requirement of a variable of the prefix')
  t.equal(find(routes, '/en/admin?open', 'c.test'), 'not-found', 'the host')
  t.match(find(routes, '/de/admin/users/7?open'), { id: '7', _route: 'admin_user' })
  t.equal(find(routes, '/de/admin/users/seven?open'), 'not-found', 'the requirement of any variable')
  t.match(find(routes, '/de/admin/pages/seven/2?open&mine', 'b.test'), { _role: 'reader', page: '2' })
  t.equal(find(routes, '/de/admin/pages/seven/2?mine', 'b.test'), 'not-found', 'both conditions hold')
  t.equal(routes.findByAlias('old_page')?.name, 'admin_page', 'an alias is a whole name')
  t.equal(routes.find('admin_home')?.condition, isOpen)
})

t.test('groups are nested; the inner one comes first', async t => {
  const routes = new RouteCollection<Named>()
  routes.group({ prefix: '/shop', name: 'shop_', defaults: { a: 1, b: 1 }, requirements: { id: /\d/ } }, shop => {
    shop.group(
      { prefix: '/:id', name: 'item_', defaults: { b: 2 }, requirements: { id: /[a-z]/ }, schemes: ['http'] },
      item => item.get('show', '/show', answer),
    )
    shop.get('home', '/by/:id', answer)
  })
  t.strictSame(find(routes, '/shop/x/show'), { a: 1, b: 2, id: 'x', _route: 'shop_item_show' })
  t.equal(find(routes, '/shop/1/show'), 'not-found')
  t.strictSame(routes.find('shop_item_show')?.schemes, ['http'])
  t.strictSame(routes.find('shop_home')?.schemes, [])
  t.match(find(routes, '/shop/by/1'), { _route: 'shop_home' })
})

t.test('an optional prefix', async t => {
  const routes = new RouteCollection<Named>()
  routes.group({ prefix: '{/:_locale}', defaults: { _locale: 'en' }, requirements: { _locale: 'en|de' } }, group => {
    group.get('home', '/', answer)
    group.get('books', '/books', answer)
  })
  t.strictSame(find(routes, '/'), { _locale: 'en', _route: 'home' })
  t.strictSame(find(routes, '/de/'), { _locale: 'de', _route: 'home' })
  t.strictSame(find(routes, '/de/books'), { _locale: 'de', _route: 'books' })
  t.strictSame(find(routes, '/books'), { _locale: 'en', _route: 'books' })
})

t.test('a mistake in a group is an error', async t => {
  const routes = new RouteCollection<Named>()
  const refuse = (declare: () => void, message: string) => t.throws(declare, { message })
  refuse(
    () => routes.group({ prefix: '/admin/' }, () => {}),
    'The route group "/admin/" cannot be used: its prefix ends with a slash, with which each path begins.',
  )
  refuse(
    () =>
      routes.group({ name: 'admin_', requirements: { ID: /\d+/ } }, group => {
        group.get('user', '/users/:id', answer)
        group.get('post', '/posts/:slug', answer)
      }),
    'The route group "admin_" cannot be used: it has a requirement for "ID", but the variables of its routes are: id, slug.',
  )
  refuse(
    () => routes.group({ requirements: { a: 'x' } }, group => group.get('none', '/none', answer)),
    'The route group "" cannot be used: it has a requirement for "a", but the variables of its routes are: none.',
  )
  refuse(
    () => routes.group({ prefix: 'admin', name: 'admin_' }, group => group.get('home', '/', answer)),
    'The route "admin_home" cannot be used: its path is admin/: it must begin with a slash, also without its optional parts.',
  )
  refuse(
    () => routes.group({ prefix: '/users' }, group => group.get('user', ':id', answer)),
    'The route group "/users" cannot be used: the path ":id" of its route "user" must begin with a slash, or be empty.',
  )
  const late = (): unknown => Promise.reject(new Error('The error of the function is not the mistake.'))
  refuse(
    () => routes.group({ prefix: '/late' }, late),
    'The route group "/late" cannot be used: its function is asynchronous: wait for other data before the group is declared.',
  )
  t.doesNotThrow(() => routes.group({ requirements: { a: 'x' } }, () => {}), 'a group without routes')
})

t.test('hidden routes are found through groups', async t => {
  const routes = new RouteCollection<Named>()
  routes.get('user', '/admin/users/:name', answer)
  routes.group({ prefix: '/admin' }, admin => admin.get('admin_user', '/users/:id', answer))
  t.strictSame(
    findHiddenRoutes(routes).map(({ by, route }) => [route.name, by.name]),
    [['admin_user', 'user']],
  )
})

/** `true` if the two types are the same. */
type Same<one, other> = (<x>() => x extends one ? 1 : 2) extends <x>() => x extends other ? 1 : 2 ? true : false

/** Makes the intersection of some types one type. */
type Flat<type> = { [name in keyof type]: type[name] }

function holds<_claim extends true>(): void {}

t.test('the parameters of a handler have the types of its path', async t => {
  type Text = { readonly id: string }
  holds<Same<Flat<ParametersOf<'/books/:id'>>, Text>>()
  holds<Same<Flat<ParametersOf<'/books/*id'>>, Text>>()
  holds<Same<Flat<ParametersOf<'/:"id"'>>, Text>>()
  holds<Same<Flat<ParametersOf<'/\\:no/:id.:_format'>>, { readonly id: string; readonly _format: string }>>()
  holds<Same<Flat<ParametersOf<'/:größe-x'>>, { readonly größe: string }>>()
  holds<
    Same<
      Flat<ParametersOf<'/a{/:b{/:c}}/:"d e"{.:f}/*g', { c: number; other: boolean }>>,
      {
        readonly b: string | undefined
        readonly c: string | number
        readonly 'd e': string
        readonly f: string | undefined
        readonly g: string
        readonly other: boolean
      }
    >
  >()
  holds<Same<ParametersOf<string>, Readonly<Record<string, unknown>>>>()
  holds<Same<Flat<ParametersOf<`${string}/:id`>>, Text>>()

  const routes = new RouteCollection<Named>()
  routes.get('book', '/books/:id', (request, { id }) => [request.path, id.trim()])
  const show = (_request: Request, { ident }: { ident: string }): string => ident
  // @ts-expect-error the path has no such variable
  routes.get('declared', '/declared/:id', show)
  // @ts-expect-error the path has no such variable
  routes.get('wrong', '/books/:id', (_request, { ident }) => ident)
  routes.add({
    name: 'page',
    path: '/pages{/:page}',
    host: ':tenant.a.test',
    defaults: { page: 1, _format: 'html' },
    controller: (_request, { page, tenant, _format }) => [Number(page).toFixed(), tenant.trim(), _format.trim()],
  })
  // @ts-expect-error the parameter of an optional part may be missing
  routes.add({ name: 'optional', path: '/optional{/:page}', controller: (_request, { page }) => page.trim() })
  routes.add({ name: 'named', path: '/named', controller: { name: 'a controller' } })
  routes.group({ prefix: '/:_locale', defaults: { size: 1 }, host: ':tenant.a.test' }, group => {
    group.post('order', '/orders/:id', (_request, { id, size, tenant, _locale }) => [
      id.trim(),
      size.toFixed(),
      tenant.trim(),
      _locale.trim(),
    ])
    group.group({ prefix: '/more/:a', defaults: { size: 'big' } }, more => {
      more.get('more', '/:b', (_request, { a, b, size, _locale }) => [a, b, size, _locale].map(text => text.trim()))
      addElsewhere(more)
    })
  })
  t.equal(routes.size, 9)
})

function addElsewhere(routes: RouteDeclarations<Named>): void {
  routes.get('elsewhere', '/elsewhere/:id', (_request, { id }) => id)
}
