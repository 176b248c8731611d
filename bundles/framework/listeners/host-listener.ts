import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { HTTP_HOST_FOREIGN } from '../../../lib/http/errors.ts'
import { includesHost } from '../../../lib/http/host.ts'

/** After the health check, which asks by address, and before all that may build a URL of the host. */
const priority = 254

/** Refuses requests to hosts that the site does not have: caches and links made of them would be somebody else's. */
export class HostListener {
  readonly #hosts: readonly string[]

  /** `*.example.org` stands for its subdomains. */
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
