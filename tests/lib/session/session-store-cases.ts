import type { Test } from 'tap'
import {
  defaultSessionLimits,
  type SessionData,
  type SessionLimits,
  type SessionStore,
} from '#lib/session/session-store.ts'

/** A store that can be swept at once. */
type SweptStore = SessionStore & { sweep(): Promise<number> }

/** Creates an empty store with the given clock. */
export type CreateStore = (t: Test, now: () => number, limits?: SessionLimits) => SweptStore

/** A session's data with these attributes. */
export function createData(attributes: Record<string, unknown> = {}): SessionData {
  return { createdAt: 1, lastUsedAt: 2, attributes, flashes: {} }
}

/** What every store must do; each implementation runs these. */
export const sessionStoreCases: Record<string, (t: Test, createStore: CreateStore) => Promise<void>> = {
  'what was written is read, under its id only': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const data = { createdAt: 1, lastUsedAt: 2, attributes: { user: { id: 7 } }, flashes: { notice: ['Saved.', 1] } }
    await store.write('a', data, 60)
    await store.write('b', createData(), 60)
    t.strictSame(await store.read('a'), data)
    t.strictSame(await store.read('b'), createData())
    t.equal(await store.read('c'), undefined)
    t.equal(await store.read('A'), undefined)
  },

  'the last write counts': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.write('a', createData({ step: 1 }), 60)
    await store.write('a', createData({ step: 2 }), 60)
    t.strictSame(await store.read('a'), createData({ step: 2 }))
  },

  'what is written and what is read are copies': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const attributes = { list: [1] }
    await store.write('a', createData(attributes), 60)
    attributes.list.push(2)
    Object.assign(Object(await store.read('a')), { attributes: {} })
    t.strictSame(await store.read('a'), createData({ list: [1] }))
  },

  'any id a client may send is only an id': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.write('real', createData({ of: 'a client' }), 60)
    for (const id of ['', '.', '..', '../real', '/etc/passwd', 'a\0b', '__proto__', 'constructor', 'é'.repeat(5000)]) {
      t.equal(await store.read(id), undefined)
      await store.destroy(id)
      await store.write(id, createData({ id }), 60)
      t.strictSame(await store.read(id), createData({ id }))
    }
    t.strictSame(await store.read('real'), createData({ of: 'a client' }))
  },

  'names such as __proto__ are data': async (t, createStore) => {
    const store = createStore(t, () => 0)
    const attributes: Record<string, unknown> = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')
    await store.write('a', { ...createData(attributes), flashes: JSON.parse('{"__proto__":["hi"]}') }, 60)
    t.match(
      JSON.stringify(await store.read('a')),
      '"attributes":{"__proto__":{"admin":true},"constructor":1},"flashes":{"__proto__":["hi"]}',
    )
    t.notOk(Object.hasOwn(Object.prototype, 'admin'))
  },

  'a session ends its lifetime after the last write': async (t, createStore) => {
    let now = 0
    const store = createStore(t, () => now)
    await store.write('a', createData(), 60)
    now = 59_999
    t.ok(await store.read('a'))
    await store.write('a', createData(), 60)
    now = 60_000
    t.ok(await store.read('a'))
    now = 119_999
    t.equal(await store.read('a'), undefined)
  },

  'what is destroyed is gone, and destroying nothing is fine': async (t, createStore) => {
    const store = createStore(t, () => 0)
    await store.destroy('a')
    await store.write('a', createData(), 60)
    await store.write('b', createData(), 60)
    await store.destroy('a')
    await store.destroy('a')
    t.equal(await store.read('a'), undefined)
    t.ok(await store.read('b'))
  },

  'a sweep removes what has expired and says how much': async (t, createStore) => {
    let now = 0
    const store = createStore(t, () => now)
    t.equal(await store.sweep(), 0)
    await store.write('short', createData(), 10)
    await store.write('brief', createData(), 20)
    await store.write('long', createData(), 60)
    now = 20_000
    t.equal(await store.sweep(), 2)
    t.equal(await store.sweep(), 0)
    now = 0
    t.equal(await store.read('short'), undefined)
    t.ok(await store.read('long'))
  },

  'of too many sessions those that expire first are removed, whenever they were written': async (t, createStore) => {
    const store = createStore(t, () => 0, { ...defaultSessionLimits, sessions: 3 })
    await store.write('a', createData(), 60)
    await store.write('b', createData(), 20)
    await store.write('c', createData(), 40)
    await store.write('d', createData(), 50)
    await store.write('e', createData(), 30)
    await store.sweep()
    t.strictSame(await listKept(store, 'abcde'), ['a', 'c', 'd'])
    t.equal(await store.sweep(), 0)
  },

  'of sessions with too many bytes those that expire first are removed': async (t, createStore) => {
    const text = 'é'.repeat(500)
    const store = createStore(t, () => 0, { ...defaultSessionLimits, bytes: 3 * 1100 })
    for (const [index, id] of [...'abcde'].entries()) await store.write(id, createData({ text }), 60 + index)
    await store.sweep()
    t.strictSame(await listKept(store, 'abcde'), ['c', 'd', 'e'])
  },

  'a session that is too large is refused, with its size and the limit, and the one before stays': async (
    t,
    createStore,
  ) => {
    const size = Buffer.byteLength(JSON.stringify({ expiresAt: 60_000, ...createData({ text: 'é' }) }))
    const store = createStore(t, () => 0, { ...defaultSessionLimits, sessionBytes: size })
    await store.write('a', createData({ text: 'é' }), 60)
    const message = `The session has ${size + 1} bytes; the limit is ${size}. Store large values elsewhere, and their keys in the session.`
    await t.rejects(store.write('a', createData({ text: 'éx' }), 60), {
      code: 'SESSION_TOO_LARGE',
      status: 500,
      message,
    })
    t.strictSame(await store.read('a'), createData({ text: 'é' }))
  },
}

async function listKept(store: SessionStore, ids: string): Promise<string[]> {
  const found = await Promise.all([...ids].map(async id => ((await store.read(id)) === undefined ? [] : [id])))
  return found.flat()
}
