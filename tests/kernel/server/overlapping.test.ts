import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  HttpError,
  type KernelEvent,
  type Request,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from 'sinfonietta'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { startBareServer } from '#tests/support/bare-server.ts'
import { lifecycle } from '#tests/support/lifecycle.ts'
import { openConnection } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const connections = 10
const requestsEach = 30

/** Some ways of waiting; most calls do not wait. */
const pauses: readonly (() => Promise<unknown> | undefined)[] = [
  () => undefined,
  () => undefined,
  () => undefined,
  () => Promise.resolve(),
  () => nextTurn(),
  () => wait(3),
]

/** A number below `limit` that depends on a text only (FNV-1a). */
function drawFor(text: string, limit: number): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return (hash >>> 8) % limit
}

const idOf = ({ query }: Request) => Number(query.get('id'))

/** A request of the number; it has a body or not. */
function toMessage(id: number): string {
  const isLast = id % requestsEach === requestsEach - 1
  const end = isLast ? 'Connection: close\r\n' : ''
  const body = `body of ${id}`
  const head = `/?id=${id} HTTP/1.1\r\nHost: localhost\r\n${end}`
  return drawFor(`method ${id}`, 3) === 0
    ? `POST ${head}Content-Length: ${body.length}\r\n\r\n${body}`
    : `GET ${head}\r\n`
}

/** The kinds of controllers. */
const handlers: readonly ((request: Request) => unknown)[] = [
  request => Response.text(`text ${idOf(request)}`),
  request => `view ${idOf(request)}`,
  async request => Response.text(`later ${idOf(request)} ${await request.text()}`),
  request => {
    throw new HttpError(418, `error ${idOf(request)}`)
  },
  async request => {
    await nextTurn()
    throw new HttpError(418, `error ${idOf(request)}`)
  },
]

const kindOf = (id: number) => drawFor(`kind ${id}`, handlers.length)

function expectedBody(id: number): string {
  const body = drawFor(`method ${id}`, 3) === 0 ? `body of ${id}` : ''
  return [`text ${id}`, `view ${id}`, `later ${id} ${body}`, `error ${id}`, `error ${id}`][kindOf(id)] ?? ''
}

function expectedEvents(id: number): string[] {
  const start = [RequestEvent, ControllerEvent, ControllerArgumentsEvent]
  const middle = kindOf(id) === 1 ? [ViewEvent] : kindOf(id) > 2 ? [ExceptionEvent] : []
  return [...start, ...middle, ResponseEvent, FinishRequestEvent, TerminateEvent].map(({ eventName }) => eventName)
}

/** The responses of a connection, by their own lengths. */
function parse(text: string): { status: number; id: number; body: string }[] {
  const responses = []
  for (let rest = text; rest !== ''; ) {
    const [, status, head = '', behind = ''] = /^HTTP\/1\.1 (\d{3})(.*?)\r\n\r\n(.*)$/s.exec(rest) ?? []
    if (status === undefined) return [...responses, { status: 0, id: -1, body: rest }]
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    responses.push({ status: Number(status), id: Number(/x-id: (\d+)/.exec(head)?.[1]), body: behind.slice(0, length) })
    rest = behind.slice(length)
  }
  return responses
}

t.test('300 overlapping requests, some of whose listeners wait, are kept apart', async t => {
  const trails = new Map<number, string[]>()
  const strangers: string[] = []
  const { context, contexts, dispatcher, port } = await startBareServer(t, request =>
    handlers[kindOf(idOf(request))]?.(request),
  )
  for (const type of lifecycle) {
    const listener = ({ request }: KernelEvent): Promise<void> | undefined => {
      const id = idOf(request)
      const check = () => {
        if (context.current !== request) strangers.push(`${type.eventName} of ${id}`)
      }
      check()
      trails.set(id, [...(trails.get(id) ?? []), type.eventName])
      return pauses[drawFor(`${type.eventName} ${id}`, pauses.length)]?.()?.then(check)
    }
    dispatcher.on(type, listener, 1)
  }
  dispatcher.on(ViewEvent, event => event.respond(Response.text(String(event.result))))
  dispatcher.on(ExceptionEvent, event => event.respond(Response.text((event.error as Error).message)))
  dispatcher.on(ResponseEvent, ({ request, response }) => response.headers.set('x-id', String(idOf(request))))

  const clients = Array.from({ length: connections }, (_, client) => {
    const ids = Array.from({ length: requestsEach }, (_, index) => client * requestsEach + index)
    const { received, socket } = openConnection(port)
    // Some arrive in one piece, others in the middle of one another.
    const bytes = ids.map(toMessage).join('')
    const half = client % 2 === 0 ? bytes.length : Math.floor(bytes.length / 2)
    socket.write(bytes.slice(0, half), () => socket.write(bytes.slice(half)))
    return { ids, received, socket }
  })
  await until(() => clients.every(({ socket }) => socket.closed))
  for (const { ids, received } of clients) {
    const expected = ids.map(id => ({ status: kindOf(id) > 2 ? 418 : 200, id, body: expectedBody(id) }))
    t.strictSame(parse(received()), expected)
  }
  const ids = clients.flatMap(({ ids }) => ids)
  await until(() => ids.every(id => trails.get(id)?.includes('kernel.terminate')))
  t.strictSame(
    ids.map(id => trails.get(id)),
    ids.map(expectedEvents),
  )
  t.strictSame(strangers, [], 'each listener has the context of its request')
  t.strictSame([...contexts], [undefined], 'no request leaves its context')
})
