import { type ClientHttp2Stream, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { Socket } from 'node:net'
import { beginHttpCall, type CallStart, type CallWork } from '../../kernel/contracts/calls.ts'
import { guard } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { endAll, share } from '../../lib/share.ts'
import { readSites } from '../../lib/stack/callers.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import type { Library } from './library.ts'

/** The client of node:http2. Node 20 has no channel for it, and its classes are not exported. */
export const nodeHttp2: Library = {
  name: 'node:http2',
  reports: 'calls',
  seenBy: 'patch',
  notSeen: 'bodies of requests; no trace context is added',
  patch: share(patchHttp2),
}

/** The calls of streams. Events of a stream run in the context of its connection. */
const calls = new WeakMap<object, CallWork>()

/** The streams that the application has closed itself. */
const closed = new WeakSet<object>()

/** The streams whose response has a head, or an end. */
const answered = new WeakSet<object>()

function patchHttp2(): () => void {
  const watched = new WeakSet<object>()
  const restores: (() => void)[] = []
  const observe = (prototype: object, methods: Readonly<Record<string, Parameters<typeof observeMethod>[2]>>) => {
    if (watched.has(prototype)) return
    watched.add(prototype)
    restores.push(...Object.entries(methods).map(([name, before]) => observeMethod(prototype, name, before)))
  }
  const begin = guard('an HTTP client call', (stream: ClientHttp2Stream) => {
    observe(Object.getPrototypeOf(stream), streamMethods)
    const call = beginHttpCall(new Http2Start(stream), begin)
    if (call === undefined) return
    calls.set(stream, call)
    call.noteSent?.(flattenFields(stream.sentHeaders))
  })
  const after = (stream: unknown) => void begin(stream as ClientHttp2Stream)
  // Of a connection that is never made.
  const session = connect('http://localhost', { createConnection: () => new Socket() })
  session.destroy()
  observe(Object.getPrototypeOf(session), { request: () => (isOfUndici() ? undefined : { after }) })
  return endAll(restores)
}

/** It reports its calls itself, and begins them outside of their requests. */
function isOfUndici(): boolean {
  return readSites(isOfUndici, 10).some(site => /[\\/]undici[\\/]/.test(String(site.getFileName())))
}

const streamMethods = {
  close: (stream: unknown) => void closed.add(Object(stream)),
  // Node.js passes each chunk of the body to this method, and at its end `null`.
  push: (stream: unknown, [chunk]: unknown[]) => void receive(stream as ClientHttp2Stream, chunk),
  emit: (stream: unknown, args: unknown[]) => void note(stream as ClientHttp2Stream, args),
}

const receive = guard('an HTTP client call', (stream: ClientHttp2Stream, chunk: unknown) => {
  const call = calls.get(stream)
  if (call === undefined) return
  if (chunk !== null) call.takeReceived?.(chunk)
  else if (!(stream.destroyed || stream.rstCode || closed.has(stream))) {
    // Of a response without a body, the end comes before the head.
    if (answered.has(stream)) finish(stream, call)
    else answered.add(stream)
  }
})

function finish(stream: object, call: CallWork): void {
  calls.delete(stream)
  call.finish()
}

const note = guard('an HTTP client call', (stream: ClientHttp2Stream, [name, value]: unknown[]) => {
  const call = calls.get(stream)
  if (call === undefined) return
  if (name === 'ready') call.send?.(undefined)
  else if (name === 'finish') call.upload?.()
  else if (name === 'response') {
    const fields = value as IncomingHttpHeaders
    call.noteReceived(Number(fields[':status']), flattenFields(fields))
    if (answered.has(stream)) finish(stream, call)
    else answered.add(stream)
  } else if (name === 'error' || name === 'close') {
    calls.delete(stream)
    const isAborted = closed.has(stream) || readProperty(value, 'name') === 'AbortError'
    call.fail(name === 'error' ? value : 'The response was cut off.', isAborted)
  }
})

/** Fields as a list of names and values in turn, without those of the protocol. */
function flattenFields(fields: OutgoingHttpHeaders = {}): string[] {
  const own = Object.entries(fields).filter(([name]) => !name.startsWith(':'))
  return own.flatMap(([name, value]) => [value].flat().flatMap(each => [name, String(each)]))
}

/** It reads the fields of the stream, which is on its way. */
class Http2Start implements CallStart {
  readonly client = 'node:http2'
  readonly method: string
  readonly url: string

  constructor({ sentHeaders: fields }: ClientHttp2Stream) {
    this.method = String(fields[':method'])
    this.url = `${fields[':scheme']}://${fields[':authority']}${fields[':path']}`
  }
}
