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
    /** Names and values in turn; lines in version 5. */
    readonly headers: readonly (string | readonly string[])[] | string
    addHeader(name: string, value: string): unknown
  }
  readonly response: { readonly statusCode: number }
  readonly error: unknown
}

/** A call of `fetch` that has not ended. */
interface Call {
  readonly end: ClientEnd
  status?: number
}

/** The services of {@link traceFetch}. */
export interface FetchServices {
  readonly packages: Packages
  readonly spans: RequestSpans
  readonly redactor: Redactor
}

/** The most characters of a URL in an attribute. */
const urlLimit = 2048

/**
 * Makes a span of each call of the global fetch, and of undici, and sends its trace context to the server, until the
 * returned function is called. The header `traceparent` of the application is sent as it is. With the instrumentation of undici, that does both.
 */
export function traceFetch({ packages, redactor, spans }: FetchServices): () => void {
  if (isInstrumented('undici')) return () => {}
  const calls = new WeakMap<object, Call>()
  const finish = ({ error, request }: Message) => {
    const { end, status } = calls.get(request) ?? {}
    const failure = status !== undefined && status >= 400 ? String(status) : undefined
    end?.(
      status === undefined ? {} : { 'http.response.status_code': status },
      error === undefined ? failure : errorType(error),
    )
    calls.delete(request)
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
          started(context) {
            if (hasTraceparent(request)) return
            packages.propagation.inject(context, request, {
              set: (request, name, value) => request.addHeader(name, value),
            })
          },
        },
      )
      if (end !== undefined) calls.set(request, { end })
    }),
    'undici:request:headers': listenTo<Message>(({ request, response }) => {
      const call = calls.get(request)
      if (call !== undefined) call.status = response.statusCode
    }),
    'undici:request:trailers': listenTo<Message>(finish),
    'undici:request:error': listenTo<Message>(finish),
  })
}

/** A server refuses two of them. */
function hasTraceparent({ headers }: Message['request']): boolean {
  if (typeof headers === 'string') return /^traceparent:/im.test(headers)
  return headers.some((text, index) => index % 2 === 0 && String(text).toLowerCase() === 'traceparent')
}
