import type { Carrier } from './call-trace.ts'
import type { CallWatch } from './call-watch.ts'
import { subscribeChannels } from './subscribe-channels.ts'

/** The parts that are read of what undici tells: the client behind the global fetch. */
interface Message {
  readonly request: { readonly method: string; readonly origin: string | URL; readonly path: string }
  readonly socket?: Carrier
  readonly response: { readonly statusCode: number; readonly headers: readonly unknown[] }
  readonly error: unknown
}

/** Notes requests of the global fetch, and of undici where the application uses it, until the returned function is called. */
export function watchFetch(calls: CallWatch): () => void {
  return subscribeChannels({
    'undici:request:create': listen(({ request }) => {
      const { method, origin, path } = request
      calls.begin(request, () => ({ client: 'fetch', method, url: `${origin}${path}` }))
    }),
    'undici:client:sendHeaders': listen(({ request, socket }) => calls.find(request)?.send(socket)),
    'undici:request:bodySent': listen(({ request }) => calls.find(request)?.upload()),
    'undici:request:headers': listen(({ request, response: { statusCode, headers } }) =>
      calls.find(request)?.receiveHead({ status: statusCode, length: lengthOf(headers) }),
    ),
    'undici:request:trailers': listen(({ request }) => calls.find(request)?.finish()),
    'undici:request:error': listen(({ request, error }) => calls.find(request)?.fail(error)),
  })
}

/** A message is what undici documents; where it is not, the channel's guard takes what is thrown. */
function listen(take: (message: Message) => void): (message: unknown) => void {
  return message => take(message as Message)
}

/** Names and values by turns, as bytes. */
function lengthOf(headers: readonly unknown[]): number | undefined {
  const index = headers.findIndex((name, index) => index % 2 === 0 && /^content-length$/i.test(String(name)))
  return index === -1 ? undefined : Number(headers[index + 1])
}
