import { readFileSync } from 'node:fs'
import type { Collection, Document, MongoClient } from 'mongodb'
import { type Test, t } from 'tap'
import { openLibraries } from '#bundles/libraries/libraries.ts'
import { readCommand } from '#bundles/libraries/mongodb.ts'
import { findObstacle } from '#bundles/profiler/subjects/queries/explain.ts'
import { databaseWork, readQueries, readWaits } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { profilePage } from '#tests/support/profiled-kernel.ts'
import { startMongodb } from '#tests/support/start-mongodb.ts'

const file = 'tests/bundles/profiler/subjects/queries/mongodb.test.ts'
const sources = readFileSync(file, 'utf8').split('\n')

type Work = (items: Collection<Document>, client: MongoClient) => Promise<unknown>

/** The profile of a request with this work, whose client has a pool of two connections. */
async function profileOf(t: Test, work: Work) {
  await openLibraries(process.cwd())
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(`mongodb://${await startMongodb(t)}`, { maxPoolSize: 2 })
  t.teardown(() => client.close())
  const kernel = await profilePage(
    t,
    async () => {
      await work(client.db('shop').collection('items'), client)
      return Response.html('done')
    },
    { directory: process.cwd() },
  )
  const profile = kernel.profile
  const { queries } = readQueries(profile)
  return { kernel, profile, queries }
}

t.test('commands have their documents without values, their place, their rows, and nothing of a secret', async t => {
  const given = [
    { name: 'Ada', tags: ['one'] },
    { name: 'Bob', tags: [] },
  ]
  const { kernel, profile, queries } = await profileOf(t, async items => {
    const later = items.findOne({ name: 'Ada', password: 'mongo-secret', age: { $gt: 5 } }) // 1
    await items.insertMany(given) // 2
    await later
    for await (const _ of items.find({}, { batchSize: 1 })); // 3
    await items.aggregate([{ $match: { name: 'Ada' } }, { $group: { _id: 1, n: { $sum: 1 } } }]).toArray() // 4
    await items.updateOne({ name: 'Ada' }, { $set: { name: 'Eve' } }) // 5
    await items.findOneAndUpdate({ name: 'Eve' }, { $set: { name: 'Ada' } }) // 6
    await items.distinct('name') // 7
    await items.deleteMany({ name: 'Bob' }) // 8
  })
  const lines = queries.map(({ caller, text }) => [text, sources[(caller.line ?? 0) - 1]?.split('// ')[1]])
  t.strictSame(
    lines.toSorted(([, one = ''], [, other = '']) => one.localeCompare(other)),
    [
      ['find items { filter: { name: ?, password: ?, age: { $gt: ? } }, limit: ?, singleBatch: ? }', '1'],
      ['insert items { documents: [{ name: ?, tags: ?, _id: ? }] }', '2'],
      ['find items { filter: {}, batchSize: ? }', '3'],
      ['getMore items { batchSize: ? }', '3'],
      ['aggregate items { pipeline: [{ $match: { name: ? } }, { $group: { _id: ?, n: { $sum: ? } } }] }', '4'],
      ['update items { updates: [{ q: { name: ? }, u: { $set: { name: ? } } }] }', '5'],
      ['findAndModify items { query: { name: ? }, remove: ?, new: ?, upsert: ?, update: { $set: { name: ? } } }', '6'],
      ['distinct items.name { query: {} }', '7'],
      ['delete items { deletes: [{ q: { name: ? }, limit: ? }] }', '8'],
    ],
  )
  const byName = new Map(queries.map(query => [query.text.split(' ')[0], query]))
  t.match(byName.get('insert'), { system: 'mongodb', namespace: 'shop', rows: 2, source: 'channel', isRead: false })
  t.match(byName.get('insert')?.parameters, [
    ['documents.name', 'Ada'],
    ['documents.tags', ['one']],
    ['documents._id', /^[\da-f]{24}$/],
    ['documents.1.name', 'Bob'],
  ])
  t.match(byName.get('update'), { rows: 1 })
  t.match(byName.get('findAndModify'), { rows: 1 })
  t.match(byName.get('delete'), { rows: 1 })
  t.match(byName.get('aggregate'), { rows: 1, isRead: true })
  t.notMatch(JSON.stringify(profile), 'mongo-secret')
  t.match(await kernel.show('database', profile), /find<\/span><span class="hl-name"> items/)
  t.match(
    databaseWork.list(profile).map(({ name }) => name),
    ['insert items'],
  )
  t.equal(findObstacle({ kind: 'database', system: 'mongodb', text: 'find items {}' }), 'it is no statement of SQL')
})

t.test('a transaction is one, and errors are those of the server', async t => {
  const { queries } = await profileOf(t, async (items, client) => {
    const session = client.startSession()
    await session.withTransaction(() => items.insertOne({ _id: 'known' as never }, { session }))
    await session.endSession()
    await items.insertOne({ _id: 'known' as never }).catch(() => {})
    await items
      .find({ fail: 1 })
      .toArray()
      .catch(() => {})
  })
  t.match(queries, [
    { operation: 'INSERT', transaction: 1, rows: 1 },
    { operation: 'COMMITTRANSACTION', transaction: 1 },
    { operation: 'INSERT', transaction: undefined, code: '11000', error: /E11000 duplicate key/ },
    { operation: 'FIND', code: '2', error: 'unknown operator: $fail' },
  ])
})

t.test('operations that wait for a connection of the pool are waits, with their place', async t => {
  const { profile } = await profileOf(t, async items => {
    await Promise.all([1, 2].map(() => items.findOne()))
    // The server answers one command after the other, each after a millisecond.
    await Promise.all(Array.from({ length: 60 }, () => items.findOne({ late: true }))) // waits
  })
  const { waits } = readWaits(profile)
  t.ok(waits.length > 0)
  t.strictSame([...new Set(waits.map(({ system }) => system))], ['mongodb'])
  t.match([...new Set(waits.map(({ caller }) => sources[(caller.line ?? 0) - 1]))], [/\/\/ waits$/])
})

t.test('values of any kind are taken out of a command', async t => {
  const nested = (depth: number): object => (depth === 0 ? { last: 1 } : { next: nested(depth - 1) })
  const { parameters, text } = readCommand({
    find: 'items',
    filter: new Map<string, unknown>([
      ['at', new Date(0)],
      ['like', /^a/i],
      ['bytes', { _bsontype: 'Binary', buffer: Buffer.from('x') }],
      ['ids', [{ _bsontype: 'ObjectId', toString: () => 'abc' }]],
    ]),
    projection: {
      get hint(): object {
        throw new Error('A getter was called.')
      },
    },
    deep: nested(20),
    $db: 'shop',
    lsid: { id: 1 },
  })
  t.match(text, /^find items \{ filter: \{ at: \?, like: \?, bytes: \?, ids: \? \}, .*deep: \{ next: .*\$db: \? \}$/)
  t.match(parameters, { 'filter.like': '/^a/i', 'filter.ids': ['abc'], 'filter.bytes': Buffer.from('x') })
  t.strictSame(readCommand({ ping: 1 }), { text: 'ping', parameters: {} })
  const long = readCommand({
    insert: 'items',
    documents: [Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, i]))],
  })
  t.match(long.text, /, … \}/)
})
