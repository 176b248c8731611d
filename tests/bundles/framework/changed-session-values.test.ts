import { createFrameworkBundle, ExceptionEvent, HttpError, type Request, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { MemorySessionStore } from '#lib/session/session-store.ts'

/** A value of the tests, which the application may change in any way. */
// biome-ignore lint/suspicious/noExplicitAny: the values of a session have no type
type Value = any

type Session = Request['session']

const get = async (session: Session, name = 'cart'): Promise<Value> => session.get(name)

/**
 * What a controller does with the session, which has a cart, a user and a number; and the names of which the log warns.
 */
const cases: Record<string, [does: (session: Session) => Promise<unknown>, warns?: string]> = {
  'a list that grows': [async session => (await get(session)).items.push('c'), 'cart of session.get()'],
  'a property': [async session => ((await get(session, 'user')).name = 'Eve'), 'user of session.get()'],
  'a nested property': [async session => ((await get(session)).items[0] = 'z'), 'cart of session.get()'],
  'a deleted property': [async session => delete (await get(session)).total, 'cart of session.get()'],
  'a Date': [async session => ((await get(session)).at = new Date(0)), 'cart of session.get()'],
  'a value that JSON cannot represent': [
    async session => {
      const cart = await get(session)
      cart.self = cart
    },
    'cart of session.get()',
  ],
  'a list that is sorted': [async session => (await get(session)).items.reverse(), 'cart of session.get()'],
  'one of two copies': [
    async session => {
      await get(session)
      const second = await get(session)
      second.total = 7
    },
    'cart of session.get()',
  ],
  'both copies, once': [
    async session => {
      for (const cart of [await get(session), await get(session)]) cart.total = 7
    },
    'cart of session.get()',
  ],
  'two values': [
    async session => {
      ;(await get(session)).total = 7
      ;(await get(session, 'user')).name = 'Eve'
    },
    'cart of session.get(), user of session.get()',
  ],
  'a value of all()': [async session => (((await session.all()) as Value).cart.total = 7), 'cart of session.all()'],
  'a name of all()': [async session => ((await session.all()).count = 5), 'count of session.all()'],
  'a new name of all()': [async session => ((await session.all()).new = 5), 'new of session.all()'],
  'what update() has returned': [
    async session => ((await session.update<Value>('cart', (cart: Value) => cart)).total = 7),
    'cart of session.update()',
  ],
  'after the value was set': [
    async session => {
      const cart = await get(session)
      cart.total = 7
      await session.set('cart', cart)
      cart.total = 8
    },
    'cart of session.get()',
  ],
  'under a new id': [
    async session => {
      const cart = await get(session)
      await session.regenerate()
      cart.total = 7
    },
    'cart of session.get()',
  ],
  'before an explicit save': [
    async session => {
      ;(await get(session)).total = 7
      await session.save()
    },
    'cart of session.get()',
  ],

  'a value that is only read': [async session => structuredClone(await get(session))],
  'a copy of the application': [async session => ({ ...(await get(session)), total: 7 })],
  'a value that is set after its change': [
    async session => {
      const cart = await get(session)
      cart.items.push('c')
      await session.set('cart', cart)
    },
  ],
  'an equal value that is set': [
    async session => {
      const cart = await get(session)
      cart.total = 7
      await session.set('cart', structuredClone(cart))
    },
  ],
  'another value that is set': [
    async session => {
      ;(await get(session)).total = 7
      await session.set('cart', {})
    },
  ],
  'a change that is undone': [
    async session => {
      const cart = await get(session)
      cart.items.push('c')
      cart.items.pop()
    },
  ],
  'another order of the properties': [
    async session => {
      const cart = await get(session)
      const { items } = cart
      delete cart.items
      cart.items = items
    },
  ],
  'a property that becomes undefined': [async session => ((await get(session)).note = undefined)],
  'a value that is missing': [async session => (await get(session, 'missing')) ?? []],
  'a primitive value': [async session => Number(await session.get('count')) + 1],
  'a value that is changed in update()': [
    async session =>
      session.update<Value>('cart', (cart: Value) => {
        cart.total = 7
        return cart
      }),
  ],
  'an earlier copy, before update()': [
    async session => {
      const cart = await get(session)
      cart.total = 7
      await session.update<Value>('cart', () => cart)
    },
  ],
  'a value that was taken': [async session => (((await session.take('cart')) as Value).total = 7)],
  'a value that is deleted': [
    async session => {
      ;(await get(session)).total = 7
      await session.delete('cart')
    },
  ],
  'a session that is cleared': [
    async session => {
      ;(await get(session)).total = 7
      await session.clear()
    },
  ],
  'a session that is invalidated': [
    async session => {
      ;(await get(session)).total = 7
      await session.invalidate()
    },
  ],
  'a flash message': [async session => (await session.flashes('notice')).at(0)],
  'all(), whose values are set one by one': [
    async session => {
      const values: Value = await session.all()
      values.cart.total = 7
      values.count = 5
      await session.set('cart', values.cart)
      await session.set('count', 5)
    },
  ],
  'all(), of which one is deleted in both': [
    async session => {
      const values = await session.all()
      delete values.user
      await session.delete('user')
    },
  ],
  'a change of a request that fails': [
    async session => {
      ;(await get(session)).total = 7
      throw new HttpError(409, 'The cart is closed.')
    },
  ],
  'a change of a request whose error the application answers': [
    async session => {
      ;(await get(session)).total = 7
      throw new HttpError(410, 'The cart is gone.')
    },
  ],
  'a change after the response': [
    async session => {
      const cart = await get(session)
      setImmediate(() => cart.items.push('late'))
    },
  ],
}

async function open(isDebug: boolean, does: (session: Session) => Promise<unknown>) {
  const { client, close, records } = await createTestKernel({
    bundles: [
      createFrameworkBundle({ session: { store: new MemorySessionStore() } }),
      {
        name: 'shop',
        register({ dispatcher, routes }) {
          dispatcher.on(ExceptionEvent, event => {
            if (event.error instanceof HttpError && event.error.status === 410) event.respond(new Response('gone'))
          })
          routes.post('begin', '/begin', async ({ session }) => {
            await session.set('cart', { items: ['a', 'b'], total: 0, zero: -0 })
            await session.set('user', { name: 'Ada' })
            await session.set('count', 1)
            await session.flash('notice', 'Saved.')
            return new Response('begun')
          })
          routes.post('change', '/change', async ({ session }) => {
            await does(session)
            return new Response('changed')
          })
        },
      },
    ],
    ...(!isDebug && { variables: { APP_ENV: 'prod', APP_SECRET: 'a secret of the test, and of nothing else' } }),
  })
  await client.post('/begin')
  await client.post('/change')
  await close()
  return records.filter(({ template = '' }) => template.startsWith('The value "{name}" of'))
}

t.test('a value of the session that was changed and is not stored is a warning in development', async t => {
  for (const [name, [does, warns = '']] of Object.entries(cases)) {
    const warnings = await open(true, does)
    t.equal(warnings.map(({ context }) => `${context.name} of ${context.call}`).join(', '), warns, name)
  }
})

t.test('the warning names the value and the place of the call', async t => {
  const [warning] = await open(true, async session => (await get(session)).items.push('c'))
  t.match(
    warning?.message,
    /^The value "cart" of session\.get\(\) in tests\/\S+\/changed-session-values\.test\.[jt]s:\d+ was changed and is not stored/,
  )
})

t.test('production compares nothing', async t => {
  t.strictSame(await open(false, async session => (await get(session)).items.push('c')), [])
})
