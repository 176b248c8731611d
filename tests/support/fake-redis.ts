import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import * as profilerScripts from '#bundles/profiler/store/redis/scripts.ts'
import type { RedisScript } from '#lib/redis/redis-connection.ts'
import * as sessionScripts from '#lib/session/redis-session-store.ts'
import { type FakeReply, FakeScripts } from './fake-redis-scripts.ts'
import { FakeSessionScripts } from './fake-session-scripts.ts'

/**
 * A server for tests on machines without Redis: it speaks the protocol, and has the scripts of the
 * package as functions.
 */
export interface FakeRedis {
  readonly url: string
  /** Commands get this error, such as `OOM full`, instead of their answers. */
  refusal: string | undefined
  /** Commands get no answer. */
  isSilent: boolean
  /** Loses all data, and the scripts. */
  empty(): void
  /** Ends all connections; the server stays. */
  disconnect(): void
  /** Accepts no connections until `open`. */
  shut(): Promise<void>
  open(): Promise<void>
  /** The value at a key, such as a profile, becomes one of a text. */
  damage(token: string, field: 'text' | 'summary' | 'facts', value: string): void
}

/** Starts the server on a free port of 127.0.0.1; it ends with the test. */
export async function startFakeRedis(t: Pick<Test, 'teardown'>): Promise<FakeRedis> {
  const sockets = new Set<Socket>()
  let known = new Set<string>()
  let scripts = new FakeScripts()
  let sessions = new FakeSessionScripts()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    const parser = new CommandParser(command => {
      if (!fake.isSilent) socket.write(encode(answer(command)))
    })
    socket.on('data', bytes => parser.take(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const answer = ([name, ...args]: readonly Buffer[]): FakeReply | Error => {
    const command = String(name).toUpperCase()
    if (command === 'INFO') return Buffer.from('redis_version:7.0.15\r\nloading:0\r\n')
    if (fake.refusal !== undefined) return new Error(fake.refusal)
    const [script, , , ...rest] = args
    const id = command === 'EVAL' ? hashOf(String(script)) : String(script)
    if (command === 'EVAL') known.add(id)
    if (!known.has(id)) return new Error('NOSCRIPT No matching script.')
    const task = String(names.get(id))
    return task.includes('session') ? sessions.run(task, rest) : scripts.run(task, rest)
  }
  const fake: FakeRedis = {
    url: `redis://127.0.0.1:${port}`,
    refusal: undefined,
    isSilent: false,
    empty() {
      scripts = new FakeScripts()
      sessions = new FakeSessionScripts()
      known = new Set()
    },
    disconnect() {
      for (const socket of sockets) socket.destroy()
    },
    async shut() {
      const closed = once(server, 'close')
      server.close()
      fake.disconnect()
      await closed
    },
    async open() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    damage: (token, field, value) => scripts.damage(token, field, value),
  }
  return fake
}

const names = new Map(
  [profilerScripts, sessionScripts]
    .flatMap(module => Object.values<object>(module))
    .filter((each): each is RedisScript => 'hash' in each)
    .map(({ hash, text }) => [hash, nameOf(text)]),
)

/** The name is in the first line of a script. */
function nameOf(text: string): string {
  return text.slice(0, text.indexOf('\n')).replace('-- sinfonietta ', '')
}

function hashOf(text: string): string {
  return createHash('sha1').update(text).digest('hex')
}

/** Reads commands of the protocol RESP 2: lists of bulk strings. */
class CommandParser {
  readonly #onCommand: (command: readonly Buffer[]) => void
  #bytes = Buffer.alloc(0)

  constructor(onCommand: (command: readonly Buffer[]) => void) {
    this.#onCommand = onCommand
  }

  take(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    for (let command = this.#next(); command !== undefined; command = this.#next()) this.#onCommand(command)
  }

  #next(): readonly Buffer[] | undefined {
    const count = this.#readLength(0)
    if (count === undefined) return undefined
    const command: Buffer[] = []
    let at = count.end
    for (let index = 0; index < count.value; index++) {
      const length = this.#readLength(at)
      if (length === undefined || this.#bytes.length < length.end + length.value + 2) return undefined
      command.push(this.#bytes.subarray(length.end, length.end + length.value))
      at = length.end + length.value + 2
    }
    this.#bytes = this.#bytes.subarray(at)
    return command
  }

  #readLength(at: number): { readonly value: number; readonly end: number } | undefined {
    const end = this.#bytes.indexOf('\r\n', at)
    return end === -1 ? undefined : { value: Number(this.#bytes.toString('latin1', at + 1, end)), end: end + 2 }
  }
}

function encode(reply: FakeReply | Error): Buffer {
  if (reply instanceof Error) return Buffer.from(`-${reply.message}\r\n`)
  if (reply === null) return Buffer.from('$-1\r\n')
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`)
  if (typeof reply === 'string') return encode(Buffer.from(reply))
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(`$${reply.length}\r\n`), reply, Buffer.from('\r\n')])
  return Buffer.concat([Buffer.from(`*${reply.length}\r\n`), ...reply.map(encode)])
}
