import type { Carrier, OutgoingCall } from './call-trace.ts'
import type { CallWatch } from './call-watch.ts'
import { subscribeChannels } from './subscribe-channels.ts'

/** The parts that are looked at of what node:http tells. */
interface Message {
  readonly request: ClientRequest
  readonly response: IncomingResponse
  readonly error: unknown
}

interface ClientRequest {
  readonly method: string
  readonly protocol: string
  readonly host: string
  readonly path: string
  readonly socket: Carrier | null
  getHeader(name: string): unknown
}

interface IncomingResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly complete: boolean
  once(event: 'close', listener: () => void): void
}

/**
 * Notes requests of node:http and node:https until the returned function is called. Node 20 tells of a request when all
 * of it is sent; from Node 22 on, already when it is created.
 */
export function watchNodeHttp(calls: CallWatch): () => void {
  const begin = (request: ClientRequest): OutgoingCall | undefined =>
    calls.begin(request, () => ({ client: 'node:http', method: request.method, url: urlOf(request) }))
  return subscribeChannels({
    'http.client.request.created': listen(({ request }) => begin(request)),
    'http.client.request.start': listen(({ request }) => {
      const call = begin(request)
      call?.send(request.socket)
      call?.upload()
    }),
    // Its name promises more: it is told when the head of the response is there.
    'http.client.response.finish': listen(({ request, response }) => {
      const call = calls.find(request)
      if (call === undefined) return
      call.receiveHead({ status: response.statusCode, length: lengthOf(response) })
      response.once('close', () => (response.complete ? call.finish() : call.fail('The response was cut off.')))
    }),
    'http.client.request.error': listen(({ request, error }) => begin(request)?.fail(error)),
  })
}

/** A message is what node documents; where it is not, the channel's guard takes what is thrown. */
function listen(take: (message: Message) => void): (message: unknown) => void {
  return message => take(message as Message)
}

/** Through a proxy the path is the whole URL. */
function urlOf(request: ClientRequest): string {
  const { host, path, protocol } = request
  return /^https?:/.test(path) ? path : `${protocol}//${request.getHeader('host') ?? host}${path}`
}

function lengthOf({ headers }: IncomingResponse): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}
