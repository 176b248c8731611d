import { listenTo, subscribeChannels } from '../../lib/channels.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { errorType } from './attributes.ts'
import type { Packages } from './load-packages.ts'
import { isInstrumented } from './registration.ts'
import type { ClientEnd, RequestSpans } from './request-spans.ts'

/** The part of a message of undici that is read; undici is the client behind the global fetch. */
interface Message {
  readonly request: {
    readonly method: string
    readonly origin: string | URL
    readonly path: string
    addHeader(name: string, value: string): unknown
  }
  readonly response: { readonly statusCode: number }
  readonly error: unknown
}

/** The services of {@link traceFetch}. */
export interface FetchServices {
  readonly packages: Packages
  readonly spans: RequestSpans
  readonly redactor: Redactor
}

/** The characters of a URL. */
const urlLimit = 2048

/**
 * Makes a span of each call of the global fetch, and of undici, and sends its trace context to the server, until the
 * returned function is called. With the instrumentation of undici, that does both.
 */
export function traceFetch({ packages, redactor, spans }: FetchServices): () => void {
  if (isInstrumented('undici')) return () => {}
  const ends = new WeakMap<object, ClientEnd>()
  const statuses = new WeakMap<object, number>()
  const finish = ({ error, request }: Message) => {
    const status = statuses.get(request)
    const failure = status !== undefined && status >= 400 ? String(status) : undefined
    ends.get(request)?.(
      status === undefined ? {} : { 'http.response.status_code': status },
      error === undefined ? failure : errorType(error),
    )
    ends.delete(request)
  }
  return subscribeChannels({
    'undici:request:create': listenTo<Message>(({ request }) => {
      const { method, origin, path } = request
      const end = spans.beginClient(
        () => {
          const { hostname, port, protocol } = new URL(origin)
          const attributes = {
            'http.request.method': method,
            'url.full': cut(redactor.text(`${origin}${path}`), urlLimit),
            'server.address': hostname,
            'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
          }
          return { name: method, attributes }
        },
        {
          started: context =>
            packages.propagation.inject(context, request, {
              set: (request, name, value) => request.addHeader(name, value),
            }),
        },
      )
      if (end !== undefined) ends.set(request, end)
    }),
    'undici:request:headers': listenTo<Message>(({ request, response }) => {
      statuses.set(request, response.statusCode)
    }),
    'undici:request:trailers': listenTo<Message>(finish),
    'undici:request:error': listenTo<Message>(finish),
  })
}
