import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { isRetrieval } from '../../../lib/http/conditions.ts'
import { HTTP_HOST_FOREIGN } from '../../../lib/http/errors.ts'
import { StaticFileResponses } from '../../../lib/http/file-response.ts'
import type { Request } from '../../../lib/http/request.ts'
import { findProblem } from '../../../lib/http/request-checks.ts'
import { includesHost } from '../../../lib/http/request-target.ts'
import type { StaticFile, StaticFiles } from '../../../lib/http/static-files.ts'
import { TrustedProxies } from '../../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../../lib/log/logger.ts'

/** Before all listeners that rely on the request. */
const validationPriority = 256

/** Refuses invalid requests, with the reason. */
export class ValidateRequestListener {
  /** Until it has warned of a proxy. */
  #logger: Pick<Logger, 'warning'> | undefined

  /** With a logger, it warns of a proxy: no proxy is trusted. */
  constructor(logger?: Pick<Logger, 'warning'>) {
    this.#logger = logger
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', validationPriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest) return
    if (this.#logger !== undefined && request.headers.has('x-forwarded-for')) this.#warnOfProxy(request)
    const problem = findProblem(request)
    if (problem !== undefined) throw problem
  }

  /** A client of the internet may send the header, too, but not from such an address. */
  #warnOfProxy({ peerAddress }: Request): void {
    if (!privateAddresses.includes(peerAddress)) return
    this.#logger?.warning(untrustedProxy, { peer: peerAddress })
    this.#logger = undefined
  }
}

const privateAddresses = new TrustedProxies(['private_ranges'])

const untrustedProxy =
  'A request from {peer} has X-Forwarded-For, which is not used: its client, scheme and host are those of the connection. If {peer} is a proxy of yours, set TRUSTED_PROXIES={peer}.'

/** After health checks, whose host is an address, and before listeners that may build a URL from the host. */
const hostPriority = 254

/** Clients may send any name: the log has the first ones. */
const mostForeignHosts = 20

/** Refuses requests for foreign hosts: links and cached pages with such a host would lead to another site. */
export class HostListener {
  readonly #hosts: readonly string[]
  readonly #logger: Pick<Logger, 'warning'>
  readonly #foreign = new Set<string>()

  /** `*.example.org` matches all subdomains. */
  constructor(hosts: readonly string[], logger: Pick<Logger, 'warning'>) {
    this.#hosts = hosts
    this.#logger = logger
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', hostPriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest || includesHost(this.#hosts, request.hostname)) return
    this.#warn(request.hostname)
    throw new HTTP_HOST_FOREIGN([request.hostname])
  }

  /** The answer does not say why: it may be a name of this site that the setting lacks. */
  #warn(host: string): void {
    if (this.#foreign.has(host) || this.#foreign.size >= mostForeignHosts) return
    this.#foreign.add(host)
    this.#logger.warning(foreignHost, { host })
  }
}

const foreignHost =
  'Requests for the host {host} are refused with 400: APP_HOSTS does not have it. If it is a name of this site, add it there. If a proxy has written it, pass on the header Host (nginx: proxy_set_header Host $host).'

/** Before routing, which is slower than the lookup of a file. */
const staticFilePriority = 48

/** Answers requests for static files. Requests for files that were removed since go to the router. */
export class StaticFileListener {
  readonly #files: StaticFiles
  readonly #responses = new StaticFileResponses()

  constructor(files: StaticFiles) {
    this.#files = files
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', staticFilePriority)
  }

  onRequest(event: RequestEvent): Promise<void> | undefined {
    const { request } = event
    if (!isRetrieval(request.method)) return undefined
    const file = this.#files.find(request.path)
    return file === undefined ? undefined : this.#answer(event, file)
  }

  async #answer(event: RequestEvent, file: StaticFile): Promise<void> {
    const response = await this.#responses.create(event.request, file)
    if (response !== undefined) event.respond(response)
  }
}

/** After routing: a request without a route never waits for its body. */
const bodyPriority = 10

/**
 * Reads JSON, form and text bodies before the controller runs. The defaults of a route can set the
 * limit (`_body_limit`), and leave the body to the controller (`_body_unread`).
 */
export class BodyListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', bodyPriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): Promise<unknown> | undefined {
    if (!isMainRequest || !request.hasBody) return undefined
    const limit = request.attributes.get('_body_limit')
    if (typeof limit === 'number') request.body.limit = limit
    return request.attributes.get('_body_unread') === true ? undefined : request.body.read()
  }
}
