import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { contentTypeOf } from '../../lib/http/content-type.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import { isBodiless } from '../../lib/http/status.ts'
import { ResponseEvent } from '../events/response-event.ts'

/** First of all, so that every other listener sees the headers that will be sent. */
const priority = 0

/** Completes a response: its content type by the request's format, and a cautious Cache-Control (as Symfony has them). */
export class ResponseListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    completeContentType(request, response)
    completeCacheControl(response)
  }
}

function completeContentType(request: Request, { headers, status }: Response): void {
  if (isBodiless(status)) headers.delete('content-type')
  else if (!headers.has('content-type')) {
    headers.set('content-type', contentTypeOf(String(request.attributes.get('_format') ?? 'html')))
  }
}

function completeCacheControl({ headers, status }: Response): void {
  // A permanent redirect may be kept: it carries no Cache-Control at all.
  if (status === 301 || headers.has('cache-control')) return
  const hasValidator = headers.has('etag') || headers.has('last-modified') || headers.has('expires')
  headers.set('cache-control', hasValidator ? 'private, must-revalidate' : 'no-cache, private')
}
