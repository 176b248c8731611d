import type { Readable } from 'node:stream'
import { HTTP_STATUS_INVALID } from './errors.ts'
import { createEtag } from './etag.ts'
import { Headers, type HeadersInit } from './headers.ts'

/** What a response sends: text is UTF-8; a stream is read while it is sent and destroyed when the client leaves. */
export type Body = string | Uint8Array | Readable | null

/** The status, 200 unless told else, and headers of a response. */
export interface ResponseInit {
  readonly status?: number
  readonly headers?: HeadersInit
}

/** A response: status, headers and body may be changed until it is sent. */
export class Response {
  readonly headers: Headers
  body: Body
  /** Bytes of the body before it was compressed; `undefined` when it was not, or only its end would tell. */
  originalSize: number | undefined
  #status = 200

  /** @throws HTTP_STATUS_INVALID HTTP_HEADER_INVALID */
  constructor(body: Body = null, init: ResponseInit = {}) {
    this.body = body
    this.headers = new Headers(init.headers)
    this.status = init.status ?? 200
  }

  /** HTML in UTF-8. */
  static html(body: string, init?: ResponseInit): Response {
    return withType(new Response(body, init), 'text/html; charset=UTF-8')
  }

  /** Plain text in UTF-8. */
  static text(body: string, init?: ResponseInit): Response {
    return withType(new Response(body, init), 'text/plain; charset=UTF-8')
  }

  /** A value as JSON. @throws TypeError for what JSON cannot express */
  static json(data: unknown, init?: ResponseInit): Response {
    return withType(new Response(JSON.stringify(data), init), 'application/json')
  }

  /** Sends the client elsewhere: 302 unless told else. The body has a link for those who are not taken there. */
  static redirect(location: string, status = 302): Response {
    const encoded = encodeURI(location.toWellFormed()).replaceAll('%25', '%')
    return Response.html(redirectPage(encoded), { status, headers: { location: encoded } })
  }

  /** A stream of a type, binary unless told else. */
  static stream(body: Readable, init?: ResponseInit): Response {
    return withType(new Response(body, init), 'application/octet-stream')
  }

  /** Nothing but a status, 204 unless told else. */
  static empty(status = 204): Response {
    return new Response(null, { status })
  }

  /** Gives the response an etag of its body, unless it has one or streams: a client that has it gets a 304. */
  withEtag(): this {
    const { body, headers } = this
    if ((typeof body === 'string' || body instanceof Uint8Array) && !headers.has('etag')) {
      headers.set('etag', createEtag(body))
    }
    return this
  }

  /** An integer from 200 to 599. @throws HTTP_STATUS_INVALID */
  get status(): number {
    return this.#status
  }

  set status(status: number) {
    if (!Number.isInteger(status) || status < 200 || status > 599) throw new HTTP_STATUS_INVALID([status])
    this.#status = status
  }

  /** Whether the status sends the client elsewhere (3xx but 304). */
  get isRedirect(): boolean {
    return this.#status >= 300 && this.#status < 400 && this.#status !== 304
  }
}

function withType(response: Response, type: string): Response {
  if (!response.headers.has('content-type')) response.headers.set('content-type', type)
  return response
}

function redirectPage(location: string): string {
  const url = location.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
  return `<!DOCTYPE html><html lang="en"><meta charset="UTF-8"><title>Redirecting to ${url}</title><p>Redirecting to <a href="${url}">${url}</a>.</p></html>`
}
