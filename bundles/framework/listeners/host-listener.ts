import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { HTTP_HOST_FOREIGN } from '../../../lib/http/errors.ts'
import { includesHost } from '../../../lib/http/host.ts'

/** After health checks, whose host is an address, and before listeners that may build a URL from the host. */
const priority = 254

/** Refuses requests for foreign hosts: links and cached pages with such a host would lead to another site. */
export class HostListener {
  readonly #hosts: readonly string[]

  /** `*.example.org` matches all subdomains. */
  constructor(hosts: readonly string[]) {
    this.#hosts = hosts
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (isMainRequest && !includesHost(this.#hosts, request.hostname)) throw new HTTP_HOST_FOREIGN([request.hostname])
  }
}
