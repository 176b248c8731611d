import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { HTTP_METHOD_REFUSED, HTTP_METHOD_UNKNOWN, HTTP_VERSION_UNSUPPORTED } from '../../lib/http/errors.ts'
import { knownMethods, refusedMethods } from '../../lib/http/methods.ts'
import type { Request } from '../../lib/http/request.ts'
import { RequestEvent } from '../events/request-event.ts'

/** Before all that believes what the request says of itself. */
const priority = 256

/** Refuses requests that cannot be understood, with the reason: target, Host, forwarding headers, method, version. */
export class ValidateRequestListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest) return
    if (request.problem !== undefined) throw request.problem
    if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
      throw new HTTP_VERSION_UNSUPPORTED([request.httpVersion])
    }
    if (!methods.has(request.method)) refuseMethod(request)
  }
}

const methods: ReadonlySet<string> = new Set(knownMethods)
const refused: ReadonlySet<string> = new Set(refusedMethods)

function refuseMethod({ method }: Request): never {
  const allow = knownMethods.join(', ')
  if (refused.has(method)) throw new HTTP_METHOD_REFUSED([method], { headers: { allow } })
  throw new HTTP_METHOD_UNKNOWN([method, allow])
}
