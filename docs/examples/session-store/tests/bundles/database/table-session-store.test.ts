import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type SessionRow, type SessionTable, TableSessionStore } from '../../../bundles/database/table-session-store.ts'

/** A table in memory. */
class FakeTable implements SessionTable {
  readonly rows = new Map<string, SessionRow>()

  async select(id: string): Promise<SessionRow | undefined> {
    return this.rows.get(id)
  }

  async insert(row: SessionRow): Promise<void> {
    this.rows.set(row.id, row)
  }

  async replace(id: string, version: number, row: SessionRow): Promise<boolean> {
    if (this.rows.get(id)?.version !== version) return false
    this.rows.delete(id)
    this.rows.set(row.id, row)
    return true
  }

  async delete(id: string): Promise<void> {
    this.rows.delete(id)
  }
}

const shop: Bundle = {
  name: 'shop',
  register({ routes }) {
    routes.get('cart', '/cart/:item', async ({ attributes, session }) => {
      await session.set(String(attributes.get('_route_params')?.item), 1)
      return Response.json(Object.keys(await session.all()))
    })
    routes.get('logout', '/logout', async ({ session }) => {
      await session.invalidate()
      return Response.text('Goodbye')
    })
  },
}

test('overlapping requests keep all changes, and a logout ends the session', async t => {
  const table = new FakeTable()
  const framework = createFrameworkBundle({ session: { store: new TableSessionStore(table) } })
  const { client, close } = await createTestKernel({ bundles: [framework, shop] })
  t.after(close)
  await client.get('/cart/first')
  const items = Array.from({ length: 20 }, (_, index) => `item${index}`)
  await Promise.all(items.map(item => client.get(`/cart/${item}`)))
  assert.deepEqual((await client.get('/cart/last')).json(), ['first', ...items, 'last'])
  await client.get('/logout')
  assert.equal(table.rows.size, 0)
})
