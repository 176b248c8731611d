import { channel } from 'node:diagnostics_channel'
import { beginHttpCall, type CallSocket, type CallStart, type CallWork } from '../../kernel/contracts/calls.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { share } from '../../lib/share.ts'
import { findStartingFetch } from './fetch.ts'
import { type Library, observeChunks } from './library.ts'

/** The client behind the global fetch, and its package. */
export const undici: Library = {
  name: 'undici',
  reports: 'calls',
  seenBy: 'channel',
  from: '4.8',
  watch: share(watchUndici),
}

/** The part of a message that is read. */
interface UndiciMessage {
  readonly request: UndiciRequest
  readonly socket?: CallSocket
  /** The head of the request as it is sent. */
  readonly headers?: unknown
  readonly response: { readonly statusCode: number; readonly headers: readonly unknown[] }
  readonly error: unknown
  /** A part of a body. */
  readonly chunk?: unknown
}

interface UndiciRequest {
  readonly method: string
  readonly origin: string | URL
  readonly path: string
  /** Names and values in turn; lines in version 5. */
  readonly headers: readonly (string | readonly string[])[] | string
  addHeader(name: string, value: string): unknown
}

function watchUndici(): () => void {
  const created = channel('undici:request:create')
  /** Later messages run in the context of the connection, which may belong to another request. */
  const calls = new WeakMap<object, CallWork>()
  return subscribeChannels({
    'undici:request:create': listenTo<UndiciMessage>(({ request }) => {
      // A call of the global fetch has many frames of Node between its caller and the message.
      const call = beginHttpCall(toStart(request), findStartingFetch()?.below ?? created.publish)
      if (call === undefined) return
      calls.set(request, call)
      observeChunks(request, 'onBodySent', call.takeSent && (chunk => call.takeSent?.(chunk)))
      observeChunks(request, 'onData', call.takeReceived && (chunk => call.takeReceived?.(chunk)))
    }),
    'undici:client:sendHeaders': listenTo<UndiciMessage>(({ headers, request, socket }) => {
      const call = calls.get(request)
      call?.noteSent?.(parseSentHeaders(headers))
      call?.send?.(socket)
    }),
    'undici:request:bodySent': listenTo<UndiciMessage>(({ request }) => calls.get(request)?.upload?.()),
    'undici:request:headers': listenTo<UndiciMessage>(({ request, response: { headers, statusCode } }) =>
      calls.get(request)?.noteReceived(statusCode, headers),
    ),
    // Newer versions publish the chunks. Those with the methods are observed already.
    'undici:request:bodyChunkSent': listenTo<UndiciMessage>(({ chunk, request }) => {
      if (!('onBodySent' in request)) calls.get(request)?.takeSent?.(chunk)
    }),
    'undici:request:bodyChunkReceived': listenTo<UndiciMessage>(({ chunk, request }) => {
      if (!('onData' in request)) calls.get(request)?.takeReceived?.(chunk)
    }),
    'undici:request:trailers': listenTo<UndiciMessage>(({ request }) => calls.get(request)?.finish()),
    'undici:request:error': listenTo<UndiciMessage>(({ request, error }) => calls.get(request)?.fail(error)),
  })
}

/** The request is read only if the call is recorded. */
function toStart(request: UndiciRequest): CallStart {
  return {
    client: 'fetch',
    get method() {
      return request.method
    },
    get url() {
      return `${request.origin}${request.path}`
    },
    get isUnlimited() {
      return findStartingFetch()?.isLimited === false || undefined
    },
    get signal() {
      return findStartingFetch()?.signal
    },
    addHeaders(added) {
      const { headers } = request
      const [first = ''] = added[0] ?? []
      const isSet =
        typeof headers === 'string'
          ? new RegExp(`^${first}:`, 'im').test(headers)
          : headers.some((text, index) => index % 2 === 0 && String(text).toLowerCase() === first)
      if (isSet) return
      for (const [name, value] of added) request.addHeader(name, value)
    },
  }
}

/** The headers of a request as undici sends it: the first line is not one. */
function parseSentHeaders(head: unknown): string[] {
  const lines = String(head).split('\r\n').slice(1)
  return lines.flatMap(line => {
    const at = line.indexOf(':')
    return at === -1 ? [] : [line.slice(0, at), line.slice(at + 1).trim()]
  })
}
