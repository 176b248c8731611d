import fc from 'fast-check'
import { type Test, t } from 'tap'
import { FileSessionStore } from '#lib/session/file-session-store.ts'
import { Session, type SessionOptions } from '#lib/session/session.ts'
import type { SessionCookie } from '#lib/session/session-state.ts'
import {
  MemorySessionStore,
  type SessionChange,
  type SessionData,
  type SessionStore,
} from '#lib/session/session-store.ts'
import { OptimisticStore } from './session-store-cases.ts'

/** A memory store that records its calls. */
class RecordingStore implements SessionStore {
  readonly calls: string[] = []
  readonly #store: MemorySessionStore

  constructor(now?: () => number) {
    this.#store = new MemorySessionStore(now)
  }

  read(id: string): Promise<SessionData | undefined> {
    this.calls.push(`read ${id}`)
    return this.#store.read(id)
  }

  insert(id: string, data: SessionData): Promise<void> {
    this.calls.push(`insert ${id}`)
    return this.#store.insert(id, data)
  }

  update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined> {
    this.calls.push(newId === id ? `update ${id}` : `move ${id} to ${newId}`)
    return this.#store.update(id, change, newId)
  }

  destroy(id: string): Promise<void> {
    this.calls.push(`destroy ${id}`)
    return this.#store.destroy(id)
  }

  /** The calls since the last takeCalls(). */
  takeCalls(): string[] {
    return this.calls.splice(0)
  }
}

const times = { lifetime: 14_400, idleTime: 1440 }

interface Site {
  readonly store: RecordingStore
  /** Moves the clock. */
  pass(milliseconds: number): void
  /** A request's session; ids are drawn as `id-1`, `id-2` … */
  open(id?: string, options?: Partial<SessionOptions>): Session
  /** Begins a session with these attributes, and gives its id. */
  begin(attributes?: Record<string, unknown>): Promise<string>
}

function createSite(): Site {
  let now = 1_000_000
  let drawn = 0
  const store = new RecordingStore(() => now)
  const createId = (): string => `id-${++drawn}`
  const open = (id?: string, options: Partial<SessionOptions> = {}): Session =>
    new Session({ store, id, times, now: () => now, createId, ...options })
  return {
    store,
    open,
    pass: milliseconds => {
      now += milliseconds
    },
    async begin(attributes = { begun: true }) {
      const session = open()
      for (const [name, value] of Object.entries(attributes)) await session.set(name, value)
      const id = idOf(await session.save())
      store.takeCalls()
      return id
    },
  }
}

function idOf(cookie: SessionCookie): string {
  if (typeof cookie === 'string') throw new Error(`No id was set, but ${cookie}.`)
  return cookie.id
}

t.test('an unused session reads nothing, writes nothing and sets no cookie', async t => {
  const { store, open, begin } = createSite()
  const id = await begin()
  for (const session of [open(id), open()]) {
    t.notOk(session.isStarted)
    t.notOk(session.isChanged)
    t.equal(session.peek(), undefined)
    t.equal(await session.save(), 'none')
    t.equal(session.useCount, 0)
  }
  t.strictSame(store.takeCalls(), [])
})

t.test('a new session that is only read sets no cookie and is not written', async t => {
  const { store, open } = createSite()
  const session = open()
  t.equal(await session.get('user'), undefined)
  t.notOk(await session.has('user'))
  t.notOk(await session.delete('user'))
  t.strictSame(await session.flashes('notice'), [])
  t.ok(session.isStarted)
  t.notOk(session.isChanged)
  t.equal(await session.save(), 'none')
  t.strictSame(store.takeCalls(), [])
})

t.test('values are there in the next request, under an id of the server', async t => {
  const { store, open } = createSite()
  const first = open()
  await first.set('user', { id: 7 })
  t.ok(first.isChanged)
  t.strictSame(await first.save(), { id: 'id-1', maxAge: 1440 })
  t.notOk(first.isChanged)
  t.equal(await first.save(), 'none')

  const second = open('id-1')
  t.strictSame(await second.get('user'), { id: 7 })
  t.ok(await second.has('user'))
  await second.set('theme', 'dark')
  t.strictSame(Object.entries(await second.all()), [
    ['user', { id: 7 }],
    ['theme', 'dark'],
  ])
  t.ok(await second.delete('user'))
  t.equal(await second.save(), 'none', 'the client has the cookie already')
  t.strictSame(Object.entries(await open('id-1').all()), [['theme', 'dark']])
  t.strictSame(store.takeCalls(), ['insert id-1', 'read id-1', 'update id-1', 'read id-1'])
})

t.test('an id that the store does not know is never adopted', async t => {
  const { store, open } = createSite()
  const session = open('chosen-by-an-attacker')
  await session.set('user', 7)
  t.strictSame(await session.save(), { id: 'id-1', maxAge: 1440 })
  t.equal(await store.read('chosen-by-an-attacker'), undefined)
})

t.test('ids are long, random and valid in a cookie by default', async t => {
  const store = new MemorySessionStore()
  const ids = new Set<string>()
  for (let count = 0; count < 50; count++) {
    const session = new Session({ store, times })
    await session.set('a', 1)
    ids.add(idOf(await session.save()))
  }
  t.equal(ids.size, 50)
  for (const id of ids) t.match(id, /^[\w-]{32}$/)
})

t.test('setting an equal value, or undoing a change, is no change', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ user: { id: 7, roles: ['a'] } })
  const session = open(id)
  await session.set('user', { roles: ['a'], id: 7 })
  t.notOk(await session.delete('nothing'))
  t.notOk(session.isChanged)
  t.equal(await session.save(), 'none')
  t.strictSame(store.takeCalls(), [`read ${id}`])

  const empty = open()
  await empty.set('a', 1)
  await empty.delete('a')
  t.equal(await empty.save(), 'none')
  t.strictSame(store.takeCalls(), [])
})

t.test('clear deletes all attributes, also those that others have added, and leaves flashes', async t => {
  const { open, begin } = createSite()
  const id = await begin({ a: 1, b: 2 })
  const session = open(id)
  await session.flash('notice', 'Cleared.')
  const other = open(id)
  await other.set('c', 3)
  await other.save()
  await session.clear()
  await session.set('d', 4)
  t.ok(session.isChanged)
  await session.save()
  const next = open(id)
  t.strictSame(Object.entries(await next.all()), [['d', 4]])
  t.strictSame(await next.flashes('notice'), ['Cleared.'])
})

t.test('values are copied in and out', async t => {
  const { open } = createSite()
  const session = open()
  const list = [1]
  await session.set('list', list)
  list.push(2)
  const read = await session.get('list')
  Object.assign(Object(read), { 0: 'changed' })
  Object.assign(Object((await session.all()).list), { 0: 'changed' })
  Object.assign(Object(session.peek()?.attributes.list), { 0: 'changed' })
  t.strictSame(await session.get('list'), [1])
})

t.test('names such as __proto__ are names like any other', async t => {
  const { open } = createSite()
  const session = open()
  await session.set('__proto__', { admin: true })
  await session.set('data', JSON.parse('{"__proto__":{"admin":true}}'))
  await session.flash('__proto__', 'hi')
  const next = open(idOf(await session.save()))
  t.equal(await next.get('constructor'), undefined)
  t.notOk(await next.has('toString'))
  t.strictSame(Object.keys(await next.all()), ['__proto__', 'data'])
  t.equal(JSON.stringify(await next.get('data')), '{"__proto__":{"admin":true}}')
  t.strictSame(await next.get('__proto__'), { admin: true })
  t.strictSame(Object.entries(await next.flashes()), [['__proto__', ['hi']]])
})

t.test('a value that JSON cannot represent is refused at once, with its place', async t => {
  const { open } = createSite()
  const session = open()
  const cycle: Record<string, unknown> = {}
  cycle.self = [cycle]
  const deep = JSON.parse(`${'['.repeat(101)}${']'.repeat(101)}`)
  const refused: [value: unknown, message: string][] = [
    [undefined, 'the value is undefined'],
    [() => 1, 'the value is a function'],
    [Symbol('s'), 'the value is a symbol'],
    [1n, 'the value is a bigint'],
    [Number.NaN, 'the value is NaN'],
    [{ amount: Number.POSITIVE_INFINITY }, 'the value.amount is Infinity'],
    [{ user: { born: new Date(0) } }, 'the value.user.born is an instance of Date (use date.toISOString())'],
    [[1, [new Map()]], 'the value[1][0] is an instance of Map (use Object.fromEntries(map))'],
    [Object.create(Object.create(null)), 'the value is an instance of a class (use { ...value })'],
    [new Array(1), 'the value[0] is undefined'],
    [cycle, 'the value.self[0] is part of itself'],
    [deep, `the value${'[0]'.repeat(100)} is nested more than 100 deep`],
  ]
  for (const [value, message] of refused) {
    await t.rejects(session.set('name', value), {
      code: 'SESSION_VALUE_INVALID',
      status: 500,
      message: `The session cannot store "name": ${message}. Store values that JSON can represent.`,
    })
  }
  await t.rejects(session.flash('notice', new Error('no')), { code: 'SESSION_VALUE_INVALID' })
  t.equal(session.useCount, 0)
})

t.test('any JSON value comes back as it was', async t => {
  const store = new MemorySessionStore()
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.jsonValue(), async (name, value) => {
      const session = new Session({ store, times })
      await session.set(name, value)
      const next = new Session({ store, id: idOf(await session.save()), times })
      // JSON has no negative zero, and fast-check makes objects without a prototype.
      t.equal(JSON.stringify(await session.get(name)), JSON.stringify(value))
      t.equal(JSON.stringify(await next.get(name)), JSON.stringify(value))
    }),
  )
  const session = new Session({ store, times })
  await session.set('user', { name: 'Ada', nick: undefined })
  t.strictSame(await session.get('user'), { name: 'Ada' }, 'as JSON does, undefined properties are left out')
})

t.test('flashes are taken once, by type or all', async t => {
  const { open } = createSite()
  const first = open()
  await first.flash('notice', 'Saved.')
  await first.flash('notice', { text: 'Sent.' })
  await first.flash('error', 'No stamp.')
  const id = idOf(await first.save())

  const second = open(id)
  const peeked = await second.peekFlashes()
  t.strictSame(Object.entries(peeked), [
    ['notice', ['Saved.', { text: 'Sent.' }]],
    ['error', ['No stamp.']],
  ])
  await second.flash('notice', 'And now.')
  t.strictSame(await second.flashes('notice'), ['Saved.', { text: 'Sent.' }, 'And now.'])
  t.strictSame(await second.flashes('notice'), [])
  await second.flash('notice', 'Later.')
  t.equal(await second.save(), 'none')

  const third = open(id)
  t.strictSame(Object.entries(await third.flashes()), [
    ['error', ['No stamp.']],
    ['notice', ['Later.']],
  ])
  t.strictSame(Object.entries(await third.flashes()), [])
  await third.save()
  t.strictSame(Object.entries(await open(id).peekFlashes()), [])
})

t.test('reading flashes that do not exist does not read the store', async t => {
  const { store, open, begin } = createSite()
  const id = await begin()
  const session = open(id)
  await session.flashes()
  await session.flashes('notice')
  await session.flash('notice', 'For this page.')
  t.strictSame(await session.flashes('notice'), ['For this page.'])
  t.equal(await session.save(), 'none')
  t.strictSame(store.takeCalls(), [`read ${id}`])
})

t.test('overlapping requests get each flash once, and none of a session that ended', async t => {
  const { open } = createSite()
  const first = open()
  await first.set('a', 1)
  await first.flash('notice', 'Once.')
  await first.flash('error', 'Stays.')
  const id = idOf(await first.save())
  const sessions = Array.from({ length: 20 }, () => open(id))
  await Promise.all(sessions.map(session => session.peekFlashes()))
  const taken = await Promise.all(sessions.map(session => session.flashes('notice')))
  t.strictSame(taken.flat(), ['Once.'])
  t.strictSame(await open(id).flashes('error'), ['Stays.'])

  const late = open(id)
  await late.flash('notice', 'Own.')
  await late.save()
  const later = open(id)
  await later.peekFlashes()
  const leaving = open(id)
  await leaving.invalidate()
  await leaving.save()
  t.strictSame(await later.flashes('notice'), [])
})

t.test('an update computes from the newest value, and stores the other changes of the request with it', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ count: 1 })
  const session = open(id)
  t.equal(await session.get('count'), 1)
  await session.set('theme', 'dark')
  await session.flash('notice', 'Counted.')
  t.equal(await open(id).update('count', add), 2)
  t.equal(await session.update('count', add), 3)
  t.equal(await session.get('count'), 3)
  t.notOk(session.isChanged)
  t.equal(await open(id).update('count', add), 4)
  t.equal(await session.save(), 'none')
  const update = [`read ${id}`, `update ${id}`]
  t.strictSame(store.takeCalls(), [`read ${id}`, ...update, `update ${id}`, ...update], 'the save writes nothing')
  const next = open(id)
  t.strictSame(Object.entries(await next.all()), [
    ['count', 4],
    ['theme', 'dark'],
  ])
  t.strictSame(await next.flashes('notice'), ['Counted.'])
})

t.test('update and take begin with what this request has changed', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ count: 1, token: 'a' })
  const session = open(id)
  await session.set('count', 5)
  t.equal(await session.update('count', add), 6)
  await session.set('token', 'b')
  t.equal(await session.take('token'), 'b')
  t.equal(await session.take('token'), undefined)
  await session.clear()
  t.equal(await session.take('count'), undefined)
  t.equal(await session.update('count', add), 1)
  await session.set('count', 9)
  await session.save()
  t.strictSame((await store.read(id))?.attributes, { count: 9 }, 'a later set is stored as usual')
})

t.test('uses of one request wait for its own update, also without await', async t => {
  const { open, begin } = createSite()
  const id = await begin({ count: 1 })
  const session = open(id)
  void session.set('count', 5)
  const updates = [session.update('count', add), session.update('count', add)]
  void session.set('theme', 'dark')
  const last = session.get('count')
  await session.save()
  t.strictSame(await Promise.all([...updates, last]), [6, 7, 7])
  t.strictSame(Object.entries(await open(id).all()), [
    ['count', 7],
    ['theme', 'dark'],
  ])
})

t.test('an update of a new session is written with its save', async t => {
  const { store, open } = createSite()
  const session = open()
  t.equal(await session.update('count', add), 1)
  t.equal(await session.update('count', add), 2)
  await session.set('token', 'a')
  t.equal(await session.take('token'), 'a')
  t.strictSame(store.takeCalls(), [])
  t.strictSame(Object.entries(await open(idOf(await session.save())).all()), [['count', 2]])

  const fresh = open()
  t.equal(await fresh.take('token'), undefined)
  t.equal(await fresh.save(), 'none')
})

t.test('update and take bring no session back that another request has ended', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ count: 4, token: 'a' })
  const late = open(id)
  t.equal(await late.get('token'), 'a')
  const leaving = open(id)
  await leaving.invalidate()
  await leaving.save()
  t.equal(await late.take('token'), undefined)
  t.equal(await late.update('count', add), 1)
  t.strictSame(Object.entries(await late.all()), [['count', 1]])
  t.equal(await late.save(), 'none')
  t.equal(await store.read(id), undefined)
})

t.test('update and take work with a new id, before and after its save', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ count: 4, token: 'a' })
  const [login, late] = [open(id), open(id)]
  await login.regenerate()
  t.equal(await login.update('count', add), 5)
  const newId = idOf(await login.save())
  t.equal(await late.take('token'), undefined, 'the old id has ended')
  t.equal(await late.save(), 'none')
  const next = open(newId)
  t.equal(await next.take('token'), 'a')
  await next.invalidate()
  t.equal(await next.update('count', add), 1)
  t.strictSame((await store.read(newId))?.attributes, { count: 5 }, 'the end comes with the save')
  const last = idOf(await next.save())
  t.equal(await store.read(newId), undefined)
  t.strictSame((await store.read(last))?.attributes, { count: 1 })
})

t.test('an update that fails leaves the value, and the session to other uses', async t => {
  const { open, begin } = createSite()
  const session = open(await begin({ count: 4 }))
  const fail = () => {
    throw new Error('no')
  }
  await t.rejects(session.update('count', fail), { message: 'no' })
  await t.rejects(
    session.update('count', async () => 1),
    { code: 'SESSION_VALUE_INVALID' },
  )
  t.equal(await session.update('count', add), 5)
})

t.test('an update changes a copy, and returns one', async t => {
  const { open, begin } = createSite()
  const session = open(await begin({ cart: [1] }))
  const added = [3]
  const push = (cart: unknown) => [...(cart as number[]), 2, ...added]
  const cart = await session.update('cart', push)
  cart.push(4)
  added.push(5)
  t.strictSame(await session.get('cart'), [1, 2, 3])
  await session.update('cart', cart => {
    const list = cart as number[]
    list.push(6)
    return 'none'
  })
  t.equal(await session.get('cart'), 'none')
})

t.test('regenerate creates a new id, keeps the data and ends the old id', async t => {
  const { store, open, begin, pass } = createSite()
  const id = await begin({ cart: [1] })
  pass(1000)
  const session = open(id)
  await session.flash('notice', 'Welcome.')
  await session.regenerate()
  await session.set('user', 7)
  t.ok(session.isChanged)
  const cookie = await session.save()
  t.strictSame(cookie, { id: 'id-2', maxAge: 1440 })
  t.strictSame(store.takeCalls(), [`read ${id}`, `move ${id} to id-2`])

  const next = open('id-2')
  t.strictSame(Object.entries(await next.all()), [
    ['cart', [1]],
    ['user', 7],
  ])
  t.hasStrict(await next.metadata(), { createdAt: 1_000_000 })
  t.strictSame(await next.flashes('notice'), ['Welcome.'])
  t.equal(await store.read(id), undefined)
})

t.test('regenerate alone is a change of a stored session, and none of a new one', async t => {
  const { open, begin } = createSite()
  const session = open(await begin())
  await session.regenerate()
  t.ok(session.isChanged)
  t.equal(idOf(await session.save()), 'id-2')
  t.notOk(session.isChanged)

  const fresh = open()
  await fresh.regenerate()
  t.notOk(fresh.isChanged)
  t.equal(await fresh.save(), 'none')
})

t.test('invalidate drops all data and clears the cookie', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ user: 7 })
  const session = open(id)
  await session.flash('notice', 'dropped, too')
  await session.invalidate()
  await session.invalidate()
  t.ok(session.isChanged)
  t.strictSame(Object.entries(await session.all()), [])
  t.strictSame(Object.entries(await session.flashes()), [])
  t.equal(await session.save(), 'clear')
  t.equal(await session.save(), 'none')
  t.strictSame(store.takeCalls(), [`read ${id}`, `destroy ${id}`])

  const fresh = open()
  await fresh.invalidate()
  t.equal(await fresh.save(), 'none', 'there was none')
})

t.test('values after invalidate begin another session', async t => {
  const { store, open, begin, pass } = createSite()
  const id = await begin({ user: 7 })
  pass(1000)
  const session = open(id)
  await session.regenerate()
  await session.invalidate()
  await session.flash('notice', 'Goodbye.')
  const next = open(idOf(await session.save()))
  t.equal(await store.read(id), undefined)
  t.strictSame(Object.entries(await next.all()), [])
  t.hasStrict(await next.metadata(), { createdAt: 1_001_000 })
  t.strictSame(await next.flashes('notice'), ['Goodbye.'])
})

t.test('a session that is only read is renewed at most once a minute', async t => {
  const { store, open, begin, pass } = createSite()
  const id = await begin()
  pass(59_999)
  const early = open(id)
  await early.get('begun')
  t.equal(await early.save(), 'none')
  t.strictSame(store.takeCalls(), [`read ${id}`])
  pass(1)
  const due = open(id)
  t.strictSame(await due.metadata(), { createdAt: 1_000_000, lastUsedAt: 1_000_000, expiresAt: 2_440_000 })
  t.notOk(due.isChanged)
  t.strictSame(await due.save(), { id, maxAge: 1440 })
  t.strictSame(store.takeCalls(), [`read ${id}`, `update ${id}`])
  t.strictSame(await open(id).metadata(), { createdAt: 1_000_000, lastUsedAt: 1_060_000, expiresAt: 2_500_000 })
})

t.test('a short idle time is renewed before it is over', async t => {
  const { open, pass } = createSite()
  const short = { times: { lifetime: 3600, idleTime: 20 } }
  const session = open(undefined, short)
  await session.set('a', 1)
  const id = idOf(await session.save())
  for (let count = 0; count < 5; count++) {
    pass(15_000)
    const next = open(id, short)
    t.equal(await next.get('a'), 1)
    t.strictSame(await next.save(), { id, maxAge: 20 })
  }
  pass(19_999)
  t.ok(await open(id, short).has('a'))
  pass(1)
  t.notOk(await open(id, short).has('a'))
})

t.test('a session ends its lifetime after its creation, however much it is used', async t => {
  const { store, open, begin, pass } = createSite()
  const id = await begin()
  for (let count = 1; count <= 14; count++) {
    pass(1_000_000)
    const next = open(id)
    t.equal(await next.get('begun'), true)
    t.strictSame(await next.save(), { id, maxAge: Math.min(1440, 14_400 - count * 1000) })
  }
  t.strictSame(await open(id).metadata(), { createdAt: 1_000_000, lastUsedAt: 15_000_000, expiresAt: 15_400_000 })
  pass(399_999)
  t.ok(await open(id).has('begun'))
  const regenerated = open(id)
  await regenerated.regenerate()
  const newId = idOf(await regenerated.save())
  const late = open(newId)
  await late.set('a', 1)
  pass(1)
  for (const ended of [id, newId]) t.notOk(await open(ended).has('begun'), 'a new id is no new lifetime')
  t.equal(await late.save(), 'none', 'nor is a request that began before')
  t.equal(await store.read(newId), undefined)
})

t.test('a session that its store keeps for too long is over nevertheless', async t => {
  const { store, open, begin, pass } = createSite()
  const id = await begin()
  pass(600_000)
  t.ok(await open(id, { times: { lifetime: 601, idleTime: 601 } }).has('begun'))
  t.notOk(await open(id, { times: { lifetime: 600, idleTime: 600 } }).has('begun'), 'with a shorter lifetime')
  t.notOk(await open(id, { times: { lifetime: 601, idleTime: 600 } }).has('begun'), 'with a shorter idle time')
  const stored = await store.read(id)
  t.ok(stored, 'the store has it')
  const careless: SessionStore = {
    read: async () => stored && { ...stored, expiresAt: 1_600_000 },
    insert: (id, data) => store.insert(id, data),
    update: () => t.fail('it is over') as never,
    destroy: () => t.fail('it is over') as never,
  }
  const session = open(id, { store: careless })
  t.notOk(await session.has('begun'), 'after the end that is stored')
  await session.set('a', 1)
  t.strictSame(await session.save(), { id: 'id-4', maxAge: 1440 })
})

t.test('a session that another request ended stays ended', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ user: 7 })
  const late = open(id)
  await late.set('page', 2)
  const leaving = open(id)
  await leaving.invalidate()
  t.equal(await leaving.save(), 'clear')
  t.equal(await late.save(), 'none')
  t.equal(await store.read(id), undefined)
})

t.test('a login that was sent twice works, whichever response arrives', async t => {
  const { open, begin } = createSite()
  const id = await begin({ cart: [1] })
  const [first, second, neither] = [open(id), open(id), open(id)]
  for (const session of [first, second]) {
    await session.regenerate()
    await session.set('user', 7)
  }
  await neither.regenerate()
  const ids = [idOf(await first.save()), idOf(await second.save())]
  t.not(ids[0], ids[1])
  for (const id of ids) t.equal(await open(id).get('user'), 7)
  t.equal(await neither.save(), 'none', 'a new id alone brings nothing back')
})

const stores: Readonly<Record<string, (t: Test) => SessionStore>> = {
  memory: () => new MemorySessionStore(),
  file: createFileStore,
  optimistic: () => new OptimisticStore(),
}

for (const [kind, createStore] of Object.entries(stores)) {
  t.test(`50 overlapping requests keep each other's changes (${kind})`, async t => {
    const store = createStore(t)
    const open = (id?: string): Session => new Session({ store, id, times })
    const first = open()
    await first.set('stays', true)
    await first.set('goes', true)
    const id = idOf(await first.save())

    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const session = open(id)
        await session.get('stays')
        await new Promise(resolve => setTimeout(resolve, index % 7))
        if (index === 25) await session.delete('goes')
        await session.set(`name ${index}`, index)
        await session.flash('notice', index)
        await session.save()
      }),
    )
    const last = open(id)
    const { stays, ...others } = await last.all()
    t.equal(stays, true)
    t.strictSame(Object.values(others).sort(byNumber), [...Array(50).keys()])
    const takers = Array.from({ length: 50 }, () => open(id))
    await Promise.all(takers.map(session => session.peekFlashes()))
    const taken = await Promise.all(takers.map(session => session.flashes('notice')))
    t.strictSame(taken.flat().sort(byNumber), [...Array(50).keys()], 'each message is taken once')
  })

  t.test(`20 overlapping requests count to 20, and one of three has a token (${kind})`, async t => {
    const store = createStore(t)
    const open = (id?: string): Session => new Session({ store, id, times })
    const first = open()
    await first.set('token', 'once')
    const id = idOf(await first.save())
    const requests = Array.from({ length: 23 }, async (_, index) => {
      const session = open(id)
      await session.get('count')
      await session.set(`name ${index}`, index)
      const result = index < 20 ? await session.update('count', add) : await session.take('token')
      await session.save()
      return result
    })
    const results = await Promise.all(requests)
    t.strictSame(
      results.slice(0, 20).sort(byNumber),
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
    t.strictSame(results.slice(20).sort(), ['once', undefined, undefined])
    const { count, token, ...others } = await open(id).all()
    t.strictSame([count, token, Object.keys(others).length], [20, undefined, 23])
  })

  t.test(`the id before a login shows nothing of the login, with 50 overlapping requests (${kind})`, async t => {
    const store = createStore(t)
    const open = (id?: string): Session => new Session({ store, id, times })
    const first = open()
    await first.set('cart', [1])
    const knownId = idOf(await first.save())
    const seen = new Set<unknown>()
    const use = async (index: number): Promise<void> => {
      const session = open(knownId)
      await session.get('cart')
      await new Promise(resolve => setTimeout(resolve, index % 7))
      await session.set('other', index)
      seen.add(await session.get('user'))
      const cookie = await session.save()
      seen.add(typeof cookie === 'string' ? undefined : await open(cookie.id).get('user'))
    }
    const login = async (): Promise<string> => {
      const session = open(knownId)
      await session.regenerate()
      await session.set('user', 7)
      await new Promise(resolve => setTimeout(resolve, 3))
      return idOf(await session.save())
    }
    const requests = Array.from({ length: 50 }, (_, index) => (index === 25 ? login() : use(index)))
    const newId = String((await Promise.all(requests))[25])
    t.strictSame([...seen], [undefined])
    t.equal(await store.read(knownId), undefined, 'no late change brings it back')
    const next = open(newId)
    t.strictSame([await next.get('user'), await next.get('cart')], [7, [1]])
    await next.invalidate()
    await next.save()
    t.equal(await store.read(newId), undefined, 'nor does the login outlive its end')
  })
}

t.test('each use is counted and reported before it happens; peek is neither', async t => {
  const { store, open, begin } = createSite()
  const id = await begin({ a: 1 })
  const methods: string[] = []
  const session = open(id, {
    onUse: use => {
      methods.push(use.method)
      t.equal(session.isStarted, methods.length > 1)
    },
  })
  t.equal(session.peek(), undefined)
  await session.get('a')
  t.strictSame(store.takeCalls(), [`read ${id}`])
  await session.set('b', 2)
  await session.has('a')
  await session.delete('a')
  await session.update('b', Number)
  await session.take('c')
  await session.all()
  await session.flash('notice', 'hi')
  await session.peekFlashes()
  await session.metadata()
  const view = session.peek()
  t.hasStrict(view, { id, metadata: { createdAt: 1_000_000, lastUsedAt: 1_000_000, expiresAt: 2_440_000 } })
  t.equal(JSON.stringify(view?.attributes), '{"b":2}')
  t.equal(JSON.stringify(view?.flashes), '{"notice":["hi"]}')
  await session.flashes()
  await session.clear()
  await session.regenerate()
  await session.invalidate()
  t.strictSame(
    methods,
    'get set has delete update take all flash peekFlashes metadata flashes clear regenerate invalidate'.split(' '),
  )
  t.equal(session.useCount, methods.length)
})

t.test('a call site begins where the session was used', async t => {
  const { open } = createSite()
  const sites: Error[] = []
  const session = open(undefined, { onUse: use => void sites.push(use.captureCallSite()) })
  async function showCart(): Promise<void> {
    await session.get('cart')
    await session.flashes('notice')
    await session.update('cart', Number.isFinite)
  }
  await showCart()
  t.match(sites, [
    { message: 'session.get()', stack: /^Error: session\.get\(\)\n +at (async )?showCart / },
    { message: 'session.flashes()', stack: /^Error: session\.flashes\(\)\n +at (async )?showCart / },
    { message: 'session.update()', stack: /^Error: session\.update\(\)\n +at (async )?showCart / },
  ])
})

t.test('a use that is refused reads nothing, and the next one may be allowed', async t => {
  const { store, open, begin } = createSite()
  const id = await begin()
  let isRefused = true
  const onUse = (): void => {
    if (isRefused) throw new Error('refused')
  }
  const session = open(id, { onUse })
  await t.rejects(session.get('begun'), { message: 'refused' })
  t.notOk(session.isStarted)
  t.equal(session.useCount, 1)
  t.strictSame(store.takeCalls(), [])
  isRefused = false
  t.equal(await session.get('begun'), true)
})

t.test('a failing store is an error of each use until it works again', async t => {
  const { store, open, begin } = createSite()
  const id = await begin()
  let isBroken = true
  const flaky: SessionStore = {
    read: id => (isBroken ? Promise.reject(new Error('no disk')) : store.read(id)),
    insert: (id, data) => store.insert(id, data),
    update: (id, change, newId) => (isBroken ? Promise.reject(new Error('no disk')) : store.update(id, change, newId)),
    destroy: id => store.destroy(id),
  }
  const session = open(id, { store: flaky })
  await t.rejects(session.get('begun'), { message: 'no disk' })
  await t.rejects(session.set('a', 1), { message: 'no disk' })
  t.equal(await session.save(), 'none')
  isBroken = false
  await session.set('a', 1)
  isBroken = true
  t.notOk(session.hasFailed)
  await t.rejects(session.save(), { message: 'no disk' })
  t.ok(session.isChanged)
  t.ok(session.hasFailed)
  isBroken = false
  await session.save()
  t.notOk(session.isChanged)
  t.notOk(session.hasFailed)
  t.equal(await open(id).get('a'), 1)
})

t.test('uses without await come before a later save', async t => {
  const { open, begin } = createSite()
  const id = await begin()
  const session = open(id)
  void session.set('a', 1)
  void session.set('b', 2)
  await session.save()
  t.strictSame(Object.keys(await open(id).all()), ['begun', 'a', 'b'])
})

function createFileStore(t: Test): SessionStore {
  return new FileSessionStore({ directory: t.testdir(), warn: message => t.fail(message) })
}

function add(count: unknown): number {
  return Number(count ?? 0) + 1
}

function byNumber(first: unknown, second: unknown): number {
  return Number(first) - Number(second)
}
