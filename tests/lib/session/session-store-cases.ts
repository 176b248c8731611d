import type { Test } from 'tap'
import {
  defaultSessionLimits,
  type SessionChange,
  type SessionData,
  type SessionLimits,
  type SessionStore,
} from '#lib/session/session-store.ts'

/** A store that can be swept at once. */
type SweptStore = SessionStore & { sweep(): Promise<number> }

/** Creates an empty store with the given clock. */
export type CreateStore = (t: Test, now: () => number, limits?: SessionLimits) => SweptStore

/** A session's data with these attributes. */
export function createData(attributes: Record<string, unknown> = {}, expiresAt = 60_000): SessionData {
  return { createdAt: 1, lastUsedAt: 2, expiresAt, attributes, flashes: {} }
}

const setStep = (stored: SessionData): SessionData => ({ ...stored, attributes: { ...stored.attributes, step: 2 } })

/** What every store must do; each implementation runs these. */
export const sessionStoreCases: Record<string, (t: Test, createStore: CreateStore) => Promise<void>> = {
  'what was written is read, under its id only': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const data = { ...createData({ user: { id: 7 } }), flashes: { notice: ['Saved.', 1] } }
    await store.insert('a', data)
    await store.insert('b', createData())
    t.strictSame(await store.read('a'), data)
    t.strictSame(await store.read('b'), createData())
    t.equal(await store.read('c'), undefined)
    t.equal(await store.read('A'), undefined)
  },

  'an update changes what is stored, and returns it': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.insert('a', createData({ step: 1, user: 7 }))
    t.strictSame(await store.update('a', setStep, 'a'), createData({ step: 2, user: 7 }))
    t.strictSame(await store.read('a'), createData({ step: 2, user: 7 }))
    t.strictSame(await store.update('a', stored => stored, 'a'), createData({ step: 2, user: 7 }), 'no change')
  },

  'an update of a session that is unknown, was destroyed or has expired stores nothing': async (t, createStore) => {
    let now = 0
    const store = createStore(t, () => now)
    await store.insert('ended', createData())
    await store.destroy('ended')
    await store.insert('expired', createData({}, 10_000))
    now = 10_000
    const change = t.captureFn(setStep)
    for (const id of ['unknown', 'ended', 'expired']) {
      for (const newId of [id, 'new']) t.equal(await store.update(id, change, newId), undefined)
      t.equal(await store.read(id), undefined)
    }
    t.equal(await store.read('new'), undefined)
    t.strictSame(change.calls, [], 'nothing is there to change')
  },

  'an update may move a session to another id, once': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.insert('old', createData({ user: 7 }))
    const moved = await Promise.all(['new', 'other'].map(id => store.update('old', setStep, id)))
    t.strictSame(moved, [createData({ user: 7, step: 2 }), undefined])
    t.strictSame(await listKept(store, ['old', 'new', 'other']), ['new'])
    t.strictSame(await store.read('new'), createData({ user: 7, step: 2 }))
    await store.update('new', stored => stored, 'newer')
    t.strictSame(await listKept(store, ['new', 'newer']), ['newer'], 'also without another change')
  },

  '60 overlapping updates are all counted, and none brings a destroyed session back': async (t, createStore) => {
    const store = createStore(t, () => 0)
    for (const id of ['kept', 'ended']) await store.insert(id, createData({ count: 0 }))
    const increase = (stored: SessionData): SessionData => createData({ count: Number(stored.attributes.count) + 1 })
    const tasks = Array.from({ length: 60 }, (_, index) => [
      store.update('kept', increase, 'kept'),
      index === 30 ? store.destroy('ended') : store.update('ended', increase, 'ended'),
    ])
    const results = await Promise.all(tasks.flat())
    t.equal(results.filter(data => data !== undefined).length, 60 + 30)
    t.strictSame(await store.read('kept'), createData({ count: 60 }))
    t.equal(await store.read('ended'), undefined)
  },

  'a change that fails leaves the session as it was, and open to other changes': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.insert('a', createData())
    const fail = (): never => {
      throw new Error('no')
    }
    await t.rejects(store.update('a', fail, 'a'), { message: 'no' })
    t.strictSame(await store.update('a', setStep, 'a'), createData({ step: 2 }))
  },

  'what is written and what is read are copies': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const attributes = { list: [1] }
    await store.insert('a', createData(attributes))
    attributes.list.push(2)
    Object.assign(Object(await store.read('a')), { attributes: {} })
    t.strictSame(await store.read('a'), createData({ list: [1] }))
  },

  'any id a client may send is only an id': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.insert('real', createData({ of: 'a client' }))
    for (const id of ['', '.', '..', '../real', '/etc/passwd', 'a\0b', '__proto__', 'constructor', 'é'.repeat(5000)]) {
      t.equal(await store.read(id), undefined)
      await store.destroy(id)
      await store.insert(id, createData({ id }))
      t.strictSame(await store.read(id), createData({ id }))
    }
    t.strictSame(await store.read('real'), createData({ of: 'a client' }))
  },

  'names such as __proto__ are data': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const attributes: Record<string, unknown> = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')
    await store.insert('a', { ...createData(attributes), flashes: JSON.parse('{"__proto__":["hi"]}') })
    t.match(
      JSON.stringify(await store.read('a')),
      '"attributes":{"__proto__":{"admin":true},"constructor":1},"flashes":{"__proto__":["hi"]}',
    )
    t.notOk(Object.hasOwn(Object.prototype, 'admin'))
  },

  'a session ends at its time': async (t, createStore) => {
    let now = 0
    const store = createStore(t, () => now)
    await store.insert('a', createData())
    now = 59_999
    t.ok(await store.read('a'))
    await store.update('a', () => createData({}, 120_000), 'a')
    now = 60_000
    t.ok(await store.read('a'))
    now = 120_000
    t.equal(await store.read('a'), undefined)
  },

  'what is destroyed is gone, and destroying nothing is fine': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.destroy('a')
    await store.insert('a', createData())
    await store.insert('b', createData())
    await store.destroy('a')
    await store.destroy('a')
    t.equal(await store.read('a'), undefined)
    t.ok(await store.read('b'))
  },

  'a sweep removes what has expired and says how much': async (t, createStore) => {
    let now = 0
    const store = createStore(t, () => now)
    t.equal(await store.sweep(), 0)
    await store.insert('short', createData({}, 10_000))
    await store.insert('brief', createData({}, 20_000))
    await store.insert('long', createData())
    now = 20_000
    t.equal(await store.sweep(), 2)
    t.equal(await store.sweep(), 0)
    now = 0
    t.equal(await store.read('short'), undefined)
    t.ok(await store.read('long'))
  },

  'of too many sessions those that expire first are removed, whenever they were written': async (t, createStore) => {
    const store = createStore(t, () => 0, { ...defaultSessionLimits, sessions: 3 })
    await store.insert('a', createData())
    await store.insert('b', createData({}, 20_000))
    await store.insert('c', createData({}, 40_000))
    await store.insert('d', createData({}, 50_000))
    await store.insert('e', createData({}, 30_000))
    await store.sweep()
    t.strictSame(await listKept(store, 'abcde'), ['a', 'c', 'd'])
    t.equal(await store.sweep(), 0)
  },

  'of sessions with too many bytes those that expire first are removed': async (t, createStore) => {
    const text = 'é'.repeat(500)
    const store = createStore(t, () => 0, { ...defaultSessionLimits, bytes: 3 * 1100 })
    for (const [index, id] of [...'abcde'].entries()) await store.insert(id, createData({ text }, 60_000 + index))
    await store.sweep()
    t.strictSame(await listKept(store, 'abcde'), ['c', 'd', 'e'])
  },

  'a session that is too large is refused, with its size and the limit, and the one before stays': async (
    t,
    createStore,
  ) => {
    const size = Buffer.byteLength(JSON.stringify(createData({ text: 'é' })))
    const store = createStore(t, () => 0, { ...defaultSessionLimits, sessionBytes: size })
    await store.insert('a', createData({ text: 'é' }))
    const message = `The session has ${size + 1} bytes; the limit is ${size}. Store large values elsewhere, and their keys in the session.`
    const refusal = { code: 'SESSION_TOO_LARGE', status: 500, message }
    await t.rejects(store.insert('b', createData({ text: 'éx' })), refusal)
    await t.rejects(
      store.update('a', () => createData({ text: 'éx' }), 'a'),
      refusal,
    )
    await t.rejects(
      store.update('a', () => createData({ text: 'éx' }), 'b'),
      refusal,
    )
    t.equal(await store.read('b'), undefined)
    t.strictSame(await store.read('a'), createData({ text: 'é' }))
  },
}

async function listKept(store: SessionStore, ids: Iterable<string>): Promise<string[]> {
  const found = await Promise.all([...ids].map(async id => ((await store.read(id)) === undefined ? [] : [id])))
  return found.flat()
}

/** A store without locks, as in a database: an update is repeated when another one was faster. */
export class OptimisticStore implements SessionStore {
  readonly #texts = new Map<string, string>()

  async read(id: string): Promise<SessionData | undefined> {
    const text = this.#texts.get(id)
    return text === undefined ? undefined : JSON.parse(text)
  }

  async insert(id: string, data: SessionData): Promise<void> {
    this.#texts.set(id, JSON.stringify(data))
  }

  async update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined> {
    const before = this.#texts.get(id)
    if (before === undefined) return undefined
    const data = change(JSON.parse(before))
    await Promise.resolve()
    // Each repetition means that another update has succeeded, so they come to an end.
    if (this.#texts.get(id) !== before) return this.update(id, change, newId)
    this.#texts.delete(id)
    this.#texts.set(newId, JSON.stringify(data))
    return data
  }

  async destroy(id: string): Promise<void> {
    this.#texts.delete(id)
  }
}
