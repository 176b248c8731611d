import { type TransformOptions, transform } from 'esbuild-wasm'
import {
  asInteger,
  checkedForm,
  createFrameworkBundle,
  ExceptionEvent,
  formBody,
  jsonBody,
  queryValue,
  RequestEvent,
  Response,
} from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

// The warnings of development read the source of functions. Each piece below is unusual, but right: nothing is logged.

const schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as { value: string } }) },
} as const

/** Controllers by the sources of their values; `none` for those with the request alone. */
const controllers = {
  none: [
    // A value of another kind with the name of a member.
    `() => { const { session } = maps; const user = session.get('user'); return Response.text(user.name) }`,
    `() => { const session = new Map(); const user = session.get('user'); return Response.json({ user }) }`,
    `request => { const session = request.attributes.get('maps'); if (!session.has('a')) return Response.empty(); return Response.text('a') }`,
    `({ query }) => [maps].map(session => session.get('a')) && Response.text('a')`,
    `({ session }) => { const names = lists.filter(session => !session.has('a')); return session.get('a').then(a => Response.json([a, names])) }`,
    `request => { if (!maps.session.has('a')) return Response.empty(); return Response.text('a') }`,
    `function () { if (this?.session.get('a')) return Response.empty(); return Response.text('a') }`,
    `request => { const request2 = maps.request.json(); return Response.json(request2.length) }`,
    // Promises that are awaited later.
    `async ({ session }) => { const [cart, user] = await Promise.all([session.get('cart'), session.get('user')]); return Response.json({ cart, user }) }`,
    `async ({ session }) => { const cart = session.get('cart'); const rows = await load(); return Response.json({ rows, cart: await cart }) }`,
    `async ({ session }) => { const cart = session.get("cart"); return Response.text(\`\${await cart} books\`) }`,
    `async ({ session }) => { const cart = session.get("cart"); return Response.text(\`<a title="\${a ? \`\${await cart}\` : ""}">\`) }`,
    `async request => { const work = { cart: request.session.get('cart') }; return Response.json(await work.cart) }`,
    `async request => { const cart = request.session.get('cart'); const work = { cart }; return Response.json(await work.cart) }`,
    `async request => { const cart = request.session.get('cart'); return Response.json(await properties({ cart })) }`,
    `async request => { const cart = request.session.get('cart'); const later = cart; return Response.json(await later) }`,
    `async request => { const cart = request.session.get('cart'); const both = isFull ? cart : other; return Response.json(await both) }`,
    `async request => { const cart = request.session.get('cart'); for await (const each of [cart]) show(each); return Response.empty() }`,
    `async request => { const cart = request.session.get('cart'); cart.catch(log); return Response.json(await (cart)) }`,
    `async request => { const cart = request.session.get('cart'); cart.finally(stop); return load(cart) }`,
    `async request => { let user = request.session.get('user'); user = await user; return Response.json(user) }`,
    `request => { const load = () => cart; const cart = request.session.get('cart'); return answer(load) }`,
    `async function* parts(request) { const text = request.text(); yield* [text] }`,
    `async request => { const text = request.text(), other = load(); return Response.text(await text + await other) }`,
    `request => request.session.get('a').then(a => a ? Response.json(a) : request.redirectTo('a'))`,
    `request => void request.session.get('a') ?? Response.text('a')`,
    // Responses that are sent later, or on purpose not at all.
    `request => { let response; if (request.path === '/b') response = Response.text('b'); else response = Response.text('c'); return response }`,
    `request => { const pages = []; pages.push(Response.text('a')); return pages[0] }`,
    `request => { switch (request.path) { case '/a': return Response.text('a'); case '/b': { const page = Response.text('b'); return page } default: return Response.empty() } }`,
    `async request => { function page() { return Response.text('a') } return page() }`,
    `request => Response.text(\`; Response.text("a") \${"a"}\`)`,
    `request => { // return; Response.text('a')\n return Response.text('b') /* } request.redirectTo('a') */ }`,
    `request => { void Response.text('a'); return Response.text('b') }`,
    `async request => { return await\n Response.text('a') }`,
    `request => { try { Response.redirect(request.path) } catch { return Response.empty(422) } return request.redirectTo('a') }`,
    `request => { return request.path === '/a'\n ? Response.text('a')\n : request.redirectTo('a') }`,
    `request => request.path === '/a' && Response.text('a') || Response.empty()`,
    `request => { const list = [\n Response.text('a'),\n Response.text('b')\n ]; return list[0] }`,
    `request => { const find = /['"]/; const quote = "it's"; return Response.text('a') }`,
    `request => { const url = 'https://a.test//b'; return Response.text(url) }`,
    // What other frameworks have.
    `request => decorate(request, response)`,
    `async request => { const response = await load(); await log(request, response); return response }`,
    `(request, parameters) => Response.json(parameters)`,
    `(request, { id } = {}) => Response.json({ id })`,
    `(request, { ...all }) => Response.json(all)`,
    // A request that is another one.
    `async e => { const t = await fetch('https://a.test').then(e => e.json()); return Response.json(t) }`,
    `async request => { const all = await Promise.all(others.map(async request => (await request.json()).name)); return Response.json(all) }`,
    `async r => { const text = await fetch(r.path).then(function (r) { return r.json() }); return Response.json(text) }`,
    `request => { const say = "request.json()"; return Response.text(say) }`,
    // Methods.
    `({ list(request) { return Response.text('a') } }).list`,
    `({ list(request) { const counter = { count: 0, next() { return ++this.count } }; return Response.json(counter.next()) } }).list`,
    `({ list(request) { return Response.json(this.all) }, all: [] }).list.bind({ all: [] })`,
    `new (class { all = []; list = request => Response.json(this.all) })().list`,
    `new Proxy(() => Response.text('a'), {})`,
    `(([value], context) => value)([request => Response.text('a')], {})`,
  ],
  page: [
    `({ page }, request) => { if (page === 2) return request.redirectTo('a'); return Response.json(page) }`,
    `({ page: first }) => Response.json(first)`,
    `({ page = 2 }) => Response.json(page)`,
    `({ ...values }) => Response.json(values)`,
    `values => Response.json(values.page)`,
    `(values, request) => Response.json([values, request.path])`,
    `async ({ page }, { session }) => Response.json([page, await session.get('a')])`,
    `page => Response.json(page.page)`,
  ],
  path: [
    `(values, { path }) => Response.text(values.path + path)`,
    `({ path }, { path: own }) => Response.text(path + own)`,
  ],
  session: [
    `({ session }) => { if (!session.has('a')) return Response.empty(); const a = session.get('a'); return Response.json({ a }) }`,
  ],
  checked: [
    `({ form }) => { if (!form.value) return Response.json(form.issues); return Response.text(form.value.value) }`,
    `({ form: f }) => { const { issues } = f; return issues ? Response.json(issues) : Response.text(f.value.value) }`,
    `({ form }) => Response.text(form.value?.value ?? 'a')`,
    `({ form }) => { const { issues, value } = form; return Response.json(issues ?? value.value) }`,
    `({ form }) => form.issues?.length ? Response.empty(422) : Response.text(form.value.value)`,
    `({ form }, request) => { if ('issues' in form) return Response.empty(422); return Response.text(form.value.value) }`,
    `({ form }) => { const problems = form['issues']; return problems ? Response.json(problems) : Response.text(form.value.value) }`,
  ],
  form: [`({ form }) => Response.text(form.value.trim())`, `({ form }) => Response.text(form.value.value)`],
}

const sources = {
  page: { page: queryValue(asInteger, 1) },
  path: { path: queryValue(asInteger, 1) },
  session: { session: jsonBody(schema) },
  checked: { form: checkedForm(schema) },
  form: { form: formBody(schema) },
}

const guards = [
  `request => request.session.get('user').then(user => user !== undefined || request.redirectTo('a'))`,
  `async request => await request.session.has('user') || request.redirectTo('a')`,
  `async ({ session, redirectTo }) => { const user = session.get('user'); return (await user) ? true : redirectTo('a') }`,
  `request => { const refused = request.redirectTo('a'); return request.path === '/a' ? true : refused }`,
  `request => !blocked.session.has(request.path) || Response.empty(403)`,
]

const listeners: readonly (readonly [
  type: typeof RequestEvent | typeof ExceptionEvent,
  priority: number,
  source: string,
])[] = [
  [
    RequestEvent,
    0,
    `event => { const response = Response.text('a'); if (event.request.path === '/b') event.respond(response) }`,
  ],
  [
    RequestEvent,
    40,
    `event => { if (event.request.attributes.get('_controller')) return; event.request.attributes.set('a', 1) }`,
  ],
  [
    RequestEvent,
    40,
    `event => { // reads request.attributes.get('_route') later\n event.request.attributes.set('a', 1) }`,
  ],
  [RequestEvent, 40, `({ request }) => log("request.attributes.get('_route')")`],
  [RequestEvent, 40, `({ request, isMainRequest }) => { if (!isMainRequest) log(request.attributes.get('_route')) }`],
  [RequestEvent, 32, `({ request }) => log(request.attributes.get('_route'))`],
  [
    RequestEvent,
    0,
    `async ({ request }) => { const user = request.session.get('user'); request.attributes.set('user', user) }`,
  ],
  [ExceptionEvent, 0, `event => event.respond(Response.text('a'))`],
]

/** Ways to the code that runs. */
const ways: Readonly<Record<string, TransformOptions | undefined>> = {
  written: undefined,
  minified: { minify: true },
  'for old clients': { target: 'es2016' },
}

const written = [...Object.values(controllers).flat(), ...guards, ...listeners.map(([, , source]) => source)]

/** All pieces as functions, in their order. */
async function compile(options: TransformOptions | undefined): Promise<(() => never)[]> {
  const list = `[${written.map(source => `(${source})`).join(',\n')}]`
  const code = options === undefined ? `right = ${list}` : (await transform(`right = ${list}`, options)).code
  return new Function('Response', `const maps = {}, lists = [], others = []; let right; ${code}; return right`)(
    Response,
  )
}

for (const [way, options] of Object.entries(ways)) {
  t.test(`no warning is logged of right code that is ${way}`, async t => {
    const runs = await compile(options)
    const rest = runs.entries()
    const take = () => {
      const [index, run] = rest.next().value ?? [0, () => t.fail('a piece is missing') as never]
      return { name: `right${index}x`, run }
    }
    const { close, records } = await createTestKernel({
      bundles: [
        createFrameworkBundle(),
        {
          name: 'shop',
          register({ dispatcher, guards: added, routes }) {
            for (const [kind, list] of Object.entries(controllers)) {
              for (const _ of list) {
                const { name, run } = take()
                if (kind === 'none') routes.get(name, `/${name}`, run)
                else routes.post(name, `/${name}`, sources[kind as keyof typeof sources] as never, run)
              }
            }
            for (const _ of guards) {
              const { name, run } = take()
              added.push({ name, check: run })
            }
            for (const [type, priority] of listeners) {
              const { name, run } = take()
              dispatcher.on(type as never, Object.defineProperty(run, 'name', { value: name }), priority)
            }
          },
        },
      ],
    })
    await close()
    const offences = records.flatMap(({ level, message }) =>
      level === 'warning' ? [`${message} ${runs[Number(/right(\d+)x/.exec(message)?.[1])]}`] : [],
    )
    t.strictSame(offences, [])
    t.equal(runs.length, written.length)
  })
}
