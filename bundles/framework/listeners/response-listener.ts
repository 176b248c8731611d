import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Headers } from '../../../lib/http/headers.ts'
import type { Request } from '../../../lib/http/request.ts'
import { contentTypeOf, isBodiless, type Response } from '../../../lib/http/response.ts'

/** The default. The framework is registered first, so other listeners without a priority see the completed headers. */
const priority = 0

/**
 * Completes a response with a content type, by the format of the request, with the charset of a text, default headers, and a
 * cautious Cache-Control. As in Symfony, a response without Cache-Control becomes `no-cache, private`, or `private, must-revalidate` if it has
 * `last-modified` or `expires`. To a Cache-Control without `public`, `private` and `s-maxage`, `private` is added.
 */
export class ResponseListener {
  readonly #defaults: Headers

  /** The headers of all responses with a body that do not have them. By default there are none. */
  constructor(defaults: Headers = new Headers()) {
    this.#defaults = defaults
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    completeContentType(request, response, this.#defaults)
    completeCacheControl(response)
  }
}

function completeContentType(request: Request, { body, headers, status }: Response, defaults: Headers): void {
  if (isBodiless(status)) {
    headers.delete('content-type')
    return
  }
  const type = headers.get('content-type')
  if (type === null) headers.set('content-type', contentTypeOf(String(request.attributes.get('_format') ?? 'html')))
  // Bytes may have any charset.
  else if (typeof body === 'string' && type.startsWith('text/') && !type.includes(';')) {
    headers.set('content-type', `${type}; charset=UTF-8`)
  }
  headers.addMissing(defaults)
}

function completeCacheControl({ headers, status }: Response): void {
  const control = headers.get('cache-control')
  if (control) {
    if (!audience.test(control)) headers.set('cache-control', `${control}, private`)
    return
  }
  // A permanent redirect may be cached: it gets no Cache-Control.
  if (status === 301) return
  const hasDate = headers.has('last-modified') || headers.has('expires')
  headers.set('cache-control', hasDate ? 'private, must-revalidate' : 'no-cache, private')
}

/** A directive about the caches that may store a response (RFC 9111, section 5.2.2). */
const audience = /(?:^|,)[ \t]*(?:public|private|s-maxage)[ \t]*(?:[=,]|$)/i
