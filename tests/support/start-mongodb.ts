import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Document } from 'mongodb'
import type { Test } from 'tap'

/**
 * Starts a server that speaks the protocol of MongoDB, and knows as much of it as the tests need: it stands in for
 * MongoDB, which Debian does not have. Filters compare for equality. It ends with the test. Returns its address.
 */
export async function startMongodb(t: Test): Promise<string> {
  // Not before: a test may open the channels of the library first.
  const { BSON } = await import('mongodb')
  const collections = new Map<string, Document[]>()
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 16 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0))
        received = received.subarray(message.length)
        // A server needs time: the next command on this connection waits. `$where` may ask for more of it.
        const [, time = 1] = /\bsleep\((\d+)\)/.exec(message.toString('latin1')) ?? []
        setTimeout(() => socket.write(answer(message, collections, BSON)), Number(time))
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const opQuery = 2004
const opReply = 1
const opMessage = 2013

type Bson = typeof import('mongodb').BSON

function answer(message: Buffer, collections: Map<string, Document[]>, bson: Bson): Buffer {
  const id = message.readInt32LE(4)
  if (message.readInt32LE(12) === opQuery) {
    // The first message of a connection: flags, the name of a collection, two numbers, and the command.
    const head = Buffer.alloc(20)
    head.writeInt32LE(1, 16)
    return frame(id, opReply, Buffer.concat([head, bson.serialize(hello)]))
  }
  const reply = execute(readSections(message, bson), collections, bson)
  return frame(id, opMessage, Buffer.concat([Buffer.alloc(5), bson.serialize(reply)]))
}

function frame(responseTo: number, code: number, body: Buffer): Buffer {
  const head = Buffer.alloc(16)
  head.writeInt32LE(16 + body.length, 0)
  head.writeInt32LE(responseTo, 8)
  head.writeInt32LE(code, 12)
  return Buffer.concat([head, body])
}

/** A message has one document, and lists of documents that are properties of it. */
function readSections(message: Buffer, bson: Bson): Document {
  const command: Document = {}
  let at = 20
  while (at < message.length) {
    const kind = message[at++]
    const size = message.readInt32LE(at)
    if (kind === 0) Object.assign(command, bson.deserialize(message.subarray(at, at + size)))
    else {
      const nameEnd = message.indexOf(0, at + 4)
      const documents: Document[] = []
      for (let from = nameEnd + 1; from < at + size; from += message.readInt32LE(from))
        documents.push(bson.deserialize(message.subarray(from, from + message.readInt32LE(from))))
      command[message.toString('utf8', at + 4, nameEnd)] = documents
    }
    at += size
  }
  return command
}

const hello = {
  ok: 1,
  isWritablePrimary: true,
  helloOk: true,
  setName: 'tests',
  me: 'tests',
  minWireVersion: 0,
  maxWireVersion: 25,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  msg: 'isdbgrid',
}

function execute(command: Document, collections: Map<string, Document[]>, bson: Bson): Document {
  const [name = ''] = Object.keys(command)
  const collection = String(command.collection ?? command[name])
  const documents = collections.get(collection) ?? []
  collections.set(collection, documents)
  const find = (filter: Document = {}) =>
    documents.filter(each => Object.entries(filter).every(([key, value]) => String(each[key]) === String(value)))
  const toCursor = (all: Document[], kind = 'firstBatch') => {
    const { batchSize = 101, limit, singleBatch } = command
    const batch = all.slice(0, Math.min(batchSize, limit || Infinity))
    const isOver = singleBatch || batch.length === all.length
    return { ok: 1, cursor: { id: bson.Long.fromNumber(isOver ? 0 : 7), ns: `shop.${collection}`, [kind]: batch } }
  }
  switch (name) {
    case 'hello':
    case 'ismaster':
      return hello
    case 'find':
      if (command.filter?.fail) return { ok: 0, code: 2, codeName: 'BadValue', errmsg: 'unknown operator: $fail' }
      return toCursor(find(command.filter))
    case 'getMore':
      return toCursor([{ last: true }], 'nextBatch')
    case 'aggregate': {
      const [match, group] = command.pipeline
      const found = find(match?.$match)
      return toCursor(group === undefined ? found : [{ _id: 1, n: found.length }])
    }
    case 'insert': {
      const known = command.documents.find((each: Document) => find({ _id: each._id }).length > 0)
      if (known !== undefined) {
        const errmsg = `E11000 duplicate key error collection: shop.${collection} index: _id_ dup key: { _id: "${known._id}" }`
        return { ok: 1, n: 0, writeErrors: [{ index: 0, code: 11000, errmsg }] }
      }
      documents.push(...command.documents)
      return { ok: 1, n: command.documents.length }
    }
    case 'update': {
      const changed = command.updates.flatMap(({ q, u }: Document) => find(q).map(each => Object.assign(each, u.$set)))
      return { ok: 1, n: changed.length, nModified: changed.length }
    }
    case 'findAndModify': {
      const [found] = find(command.query)
      const value = found === undefined ? null : Object.assign(found, command.update.$set)
      return { ok: 1, lastErrorObject: { n: value === null ? 0 : 1 }, value }
    }
    case 'delete': {
      const removed = command.deletes.flatMap(({ q }: Document) => find(q))
      collections.set(
        collection,
        documents.filter(each => !removed.includes(each)),
      )
      return { ok: 1, n: removed.length }
    }
    default:
      return { ok: 1 }
  }
}
