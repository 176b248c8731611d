import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { type FrameworkOptions, optionalListeners } from '#bundles/framework/options.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { Response } from '#lib/http/response.ts'
import { MemorySessionStore, type SessionData, type SessionStore } from '#lib/session/session-store.ts'
import { runInTerminal } from '#tests/support/fake-terminal.ts'

/** The mistakes in options, each without the dash before it; none if they are accepted. */
function findMistakes(options: unknown): string[] {
  try {
    createFrameworkBundle(options as FrameworkOptions)
    return []
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    const [first, ...lines] = message.split('\n')
    t.strictSame([code, first], ['FRAMEWORK_OPTIONS_INVALID', 'The options of createFrameworkBundle() have mistakes:'])
    return lines.map(line => line.replace(/^- /, ''))
  }
}

const findSessionMistakes = (session: unknown) => findMistakes({ session })
const findCookieMistakes = (cookie: unknown) => findMistakes({ session: { cookie } })

t.test('options that browsers and stores can follow are accepted', async t => {
  const accepted: FrameworkOptions[] = [
    {},
    { session: undefined, without: undefined },
    { session: { store: undefined, lifetime: undefined, idleTime: undefined, cookie: undefined } },
    { session: { store: new MemorySessionStore(), lifetime: 1, cookie: {} } },
    { session: { lifetime: 315_360_000, idleTime: 315_360_000 } },
    { session: { cookie: { name: '__Host-session', secure: true, path: '/' } } },
    { session: { cookie: { name: '__Secure-id', secure: true, path: '/shop', domain: '.example.org' } } },
    { session: { cookie: { name: 'a.b_c-1', sameSite: 'none', secure: true } } },
    { session: { cookie: { name: 'n'.repeat(4064) } } },
    { session: { cookie: { secure: false, sameSite: 'strict', domain: undefined } } },
    { without: [...optionalListeners] },
  ]
  for (const options of accepted) t.strictSame(findMistakes(options), [], JSON.stringify(options))
})

t.test('wrong options are refused when the bundle is created, all at once', async t => {
  t.strictSame(findMistakes({ sessions: {}, session: { lifeTime: 1, cookie: { httpOnly: false, maxAge: 1 } } }), [
    'there is no option "sessions"; the nearest is "session".',
    'there is no option "session.lifeTime"; the nearest is "lifetime".',
    'there is no option "session.cookie.httpOnly": use name, path, domain, sameSite, secure.',
    'there is no option "session.cookie.maxAge": use name, path, domain, sameSite, secure.',
  ])
  t.strictSame(findMistakes({ session: { idleTime: 0, cookie: { path: 'shop' } }, without: ['gzip'] }), [
    'session.idleTime is 0: use whole seconds, from 1 to 315360000 (ten years).',
    'session.cookie.path is "shop": use a path such as "/" or "/shop".',
    'without has "gzip": use "compression", "conditional", "cross-origin", "health", "robots".',
  ])
})

t.test('a store has four methods', async t => {
  t.strictSame(findSessionMistakes({ store: { read() {}, insert() {}, destroy() {}, set() {} } }), [
    'session.store has no method update: a SessionStore has read, insert, update and destroy.',
  ])
  t.strictSame(findSessionMistakes({ store: 'redis://127.0.0.1' }), [
    'session.store is a string of 17 characters: use an object with read, insert, update and destroy.',
  ])
})

t.test('times are whole seconds, and the idle time is not the longer one', async t => {
  for (const value of [0, -1, 1.5, Number.POSITIVE_INFINITY, 315_360_001]) {
    const mistake = `is ${value}: use whole seconds, from 1 to 315360000 (ten years).`
    t.match(findSessionMistakes({ lifetime: value, idleTime: 60 }), [`session.lifetime ${mistake}`])
    t.strictSame(findSessionMistakes({ idleTime: value }), [`session.idleTime ${mistake}`])
  }
  const mistake = (lifetime: number) =>
    `session.idleTime (2592001 seconds) is longer than session.lifetime (${lifetime}): use a longer lifetime.`
  t.strictSame(findSessionMistakes({ idleTime: 2_592_001 }), [mistake(2_592_000)], 'the default is thirty days')
  t.strictSame(findSessionMistakes({ idleTime: 2_592_001, lifetime: 60 }), [mistake(60)])
})

t.test('a cookie that a browser would refuse is refused at once', async t => {
  const cases: [cookie: unknown, mistakes: string[]][] = [
    [{ name: '' }, ['name is "": use letters, digits and "-", "_" or ".".']],
    [{ name: 'a b' }, ['name is "a b": use letters, digits and "-", "_" or ".".']],
    [{ name: 'a;b' }, ['name is "a;b": use letters, digits and "-", "_" or ".".']],
    [{ path: '' }, ['path is "": use a path such as "/" or "/shop".']],
    [{ path: 'shop' }, ['path is "shop": use a path such as "/" or "/shop".']],
    [{ path: `/${'p'.repeat(1024)}` }, ['path has 1025 bytes: browsers ignore more than 1024.']],
    [{ name: 'n'.repeat(4065) }, ['name has 4065 bytes: use at most 4064.']],
    [{ path: '/a;b' }, ['path is "/a;b": use a path such as "/" or "/shop".']],
    [{ domain: 'https://a.test' }, ['domain is "https://a.test": use a host such as "example.org".']],
    [{ sameSite: 'Lax' }, ['sameSite is "Lax": use "strict", "lax" or "none".']],
    [{ sameSite: 'none' }, ['sameSite is "none": browsers then demand secure: true.']],
    [{ sameSite: 'none', secure: false }, ['sameSite is "none": browsers then demand secure: true.']],
    [{ name: '__Secure-id' }, ['name is "__Secure-id": browsers then demand secure: true.']],
    [{ name: '__Host-id', secure: false }, ['name is "__Host-id": browsers then demand secure: true.']],
    [
      { name: '__host-id', secure: true, path: '/shop', domain: 'a.test' },
      [
        'name is "__host-id": browsers then demand the path "/", not "/shop".',
        'name is "__host-id": browsers then allow no domain, such as "a.test".',
      ],
    ],
  ]
  for (const [cookie, mistakes] of cases) {
    t.strictSame(
      findCookieMistakes(cookie),
      mistakes.map(text => `session.cookie.${text}`),
    )
  }
})

t.test('an unknown listener is refused, with the nearest name', async t => {
  t.strictSame(findMistakes({ without: ['compresion', 'router'] }), [
    'without has "compresion"; the nearest is "compression": use "compression", "conditional", "cross-origin", "health", "robots".',
    'without has "router": use "compression", "conditional", "cross-origin", "health", "robots".',
  ])
})

const page: Bundle = {
  name: 'page',
  register({ routes }) {
    routes.add({
      name: 'page',
      path: '/',
      controller: () => Response.html('text '.repeat(1000), { headers: { etag: '"1"' } }),
    })
    routes.add({ name: 'health', path: '/_health', controller: () => Response.text('all is well') })
  },
}

t.test('each optional listener can be left out: its feature is gone, and debug:events does not list it', async t => {
  /** Which features an application has. */
  const findFeatures = async (options: FrameworkOptions) => {
    const bundles = [createFrameworkBundle(options), page]
    const { client, close } = await createTestKernel({ bundles })
    t.teardown(close)
    const plain = await client.get('/')
    const compressed = await client.get('/', { headers: { 'accept-encoding': 'gzip' } })
    const repeated = await client.get('/', { headers: { 'if-none-match': '"1"' } })
    const foreign = await client.post('/', { headers: { 'sec-fetch-site': 'cross-site' } })
    const health = await client.get('/_health')
    const live = await client.get('/_health/live')
    const { stdout } = await runInTerminal('debug:events --json', { load: async () => bundles })
    const listed = (name: string) => stdout.includes(`"${name}Listener.`)
    return {
      compression: [compressed.headers.get('content-encoding') === 'gzip', listed('Compression')],
      conditional: [repeated.status === 304, listed('Conditional')],
      'cross-origin': [foreign.status === 403, listed('CrossOrigin')],
      health: [health.text.startsWith('{"status":"ready"'), live.status === 200, listed('Health')],
      robots: [plain.headers.get('x-robots-tag') === 'noindex', listed('Robots')],
    }
  }
  const all = {
    compression: [true, true],
    conditional: [true, true],
    'cross-origin': [true, true],
    health: [true, true, true],
    robots: [true, true],
  }
  t.strictSame(await findFeatures({}), all)
  for (const name of optionalListeners) {
    t.strictSame(await findFeatures({ without: [name] }), { ...all, [name]: all[name].map(() => false) }, name)
  }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle({ without: ['health'] }), page] })
  t.teardown(close)
  t.equal((await client.get('/_health')).text, 'all is well', 'the application answers itself')
})

t.test('a profile has the listeners that run, called or not', async t => {
  const listRecorded = async (options: FrameworkOptions) => {
    const bundles = [createFrameworkBundle(options), page]
    const { client, close, expectProfile } = await createProfiledTestKernel({ bundles, directory: t.testdir() })
    t.teardown(close)
    const { profile } = await expectProfile(await client.get('/'))
    const names = ['Compression', 'Conditional', 'Health', 'Robots', 'Router']
    return names.filter(name => JSON.stringify(profile.data.events).includes(`${name}Listener.`))
  }
  t.strictSame(await listRecorded({}), ['Compression', 'Conditional', 'Health', 'Robots', 'Router'])
  t.strictSame(await listRecorded({ without: ['compression', 'robots'] }), ['Conditional', 'Health', 'Router'])
})

/** Counts visits, logs in and logs out. */
const shop: Bundle = {
  name: 'shop',
  register({ routes }) {
    routes.add({
      name: 'visit',
      path: '/visit/:number',
      controller: async ({ attributes, session }) => {
        await session.set(`visit ${attributes.get('_route_params')?.number}`, true)
        return Response.json(Object.keys(await session.all()))
      },
    })
    routes.add({
      name: 'login',
      path: '/login',
      controller: async ({ session }) => {
        await session.regenerate()
        await session.set('user', 'ada')
        return Response.text('hello')
      },
    })
    routes.add({
      name: 'logout',
      path: '/logout',
      controller: async ({ session }) => {
        await session.invalidate()
        return Response.text('goodbye')
      },
    })
  },
}

/** A store of an application: a map, and a turn of the event loop for each access. */
class MapStore implements SessionStore {
  readonly sessions = new Map<string, SessionData>()
  #last: Promise<unknown> = Promise.resolve()

  read(id: string): Promise<SessionData | undefined> {
    return this.#later(() => this.sessions.get(id))
  }

  async insert(id: string, data: SessionData): Promise<void> {
    await this.#later(() => this.sessions.set(id, data))
  }

  update(id: string, change: (data: SessionData) => SessionData, newId: string): Promise<SessionData | undefined> {
    return this.#later(() => {
      const stored = this.sessions.get(id)
      if (stored === undefined) return undefined
      const data = change(stored)
      this.sessions.delete(id)
      this.sessions.set(newId, data)
      return data
    })
  }

  async destroy(id: string): Promise<void> {
    await this.#later(() => this.sessions.delete(id))
  }

  #later<result>(task: () => result): Promise<result> {
    const result = this.#last.then(() => new Promise<result>(resolve => setImmediate(() => resolve(task()))))
    this.#last = result
    return result
  }
}

t.test('a store, times and a cookie of the application, with hundreds of overlapping requests', async t => {
  const store = new MapStore()
  const cookie = { name: '__Host-shop', secure: true, sameSite: 'strict' } as const
  const session = { store, lifetime: 7200, idleTime: 600, cookie }
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle({ session }), shop] })
  t.teardown(close)
  const url = (path: string) => `https://shop.test${path}`
  const first = await client.get(url('/visit/0'))
  const field = String(first.headers.get('set-cookie'))
  t.match(field, /^__Host-shop=[\w-]{32}; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  const headers = { cookie: String(field.split(';')[0]) }

  const visits = Array.from({ length: 300 }, (_, index) => client.get(url(`/visit/${index}`), { headers }))
  t.ok((await Promise.all(visits)).every(({ status }) => status === 200))
  const [stored] = store.sessions.values()
  t.equal(store.sessions.size, 1)
  t.equal(Object.keys(stored?.attributes ?? {}).length, 300, 'none of the visits is lost')
  t.equal(Number(stored?.expiresAt) - Number(stored?.lastUsedAt), 600_000)

  // A login, and then a logout, in the middle of other requests.
  const send = (path: string, count: number, cookies = headers) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        client.get(url(index === count / 2 ? path : `/visit/${index}`), { headers: cookies }),
      ),
    )
  const login = (await send('/login', 200))[100]
  const newCookie = String(login?.headers.get('set-cookie')).split(';', 1).join()
  t.not(newCookie, headers.cookie)
  const [[id, data] = [], ...others] = store.sessions
  t.strictSame([`__Host-shop=${id}`, data?.attributes.user, others], [newCookie, 'ada', []], 'only under the new id')

  const logout = (await send('/logout', 200, { cookie: newCookie }))[100]
  t.match(logout?.headers.get('set-cookie'), /^__Host-shop=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  t.notOk(store.sessions.has(String(id)), 'a late change does not bring the session back')
  t.notOk(
    [...store.sessions.values()].some(({ attributes }) => attributes.user),
    'nor the user',
  )
})
