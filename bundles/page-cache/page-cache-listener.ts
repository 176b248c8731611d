import {
  FinishRequestEvent,
  type KernelEvent,
  RequestEvent,
  type RequestKernel,
  ResponseEvent,
  TerminateEvent,
} from '../../kernel/events.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { isShared } from '../../lib/http/cache-policy.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import { parseDirectives, readSharedFreshness } from '../../lib/http/freshness.ts'
import { Headers } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import { isSafe } from '../../lib/http/request-target.ts'
import { Response } from '../../lib/http/response.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { toKey, toUrlTag, toVariant, toVariantKey } from './page-key.ts'
import type { PageStore, StoredPage } from './page-store.ts'

/** After guards (16), which decide about cached pages as about others, before the body is read (10). */
const requestPriority = 12

/** Before all other listeners: they complete a cached response as they complete that of the controller. */
const answerPriority = 1000

/** After the CachePolicyListener has kept the responses of clients private (-1001), before compression (-1100). */
const responsePriority = -1002

/** Milliseconds for which a request waits at most for another one that makes the same page. */
const waitLimit = 30_000

/** The most pages whose requests no longer wait for one another, because the last one could not be stored. */
const passLimit = 1000

/** The most tags that are known. */
const tagLimit = 1000

/** Headers of one response, not of a page. */
const ownHeaders =
  /^(?:set-cookie|cache-tag|date|age|x-request-id|x-debug-.*|server-timing|connection|keep-alive|transfer-encoding)$/i

/** A page that a request makes, and for which others wait. */
interface Flight {
  readonly page: Promise<StoredPage | undefined>
  readonly land: (page: StoredPage | undefined) => void
}

/** What is known of a request that makes a page. */
interface Making {
  readonly key: string
  /** Of the URL and the variant. */
  readonly flightKey: string
  readonly flight: Flight | undefined
  readonly createdAt: number
  /** Uses of the session before: a fragment may be in a page that has used it. */
  readonly sessionUses: number
  answer?: Pick<StoredPage, 'status' | 'headers' | 'body'>
  tags?: readonly string[]
}

/** The services of the listener. */
interface PageCacheServices {
  readonly store: PageStore
  readonly logger: Logger
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/**
 * Answers requests for routes with a public cache policy by stored pages. Of requests for the same
 * page, one makes it, and the others wait. It stores what the controller has answered, so that a
 * stored page has nothing of its request: no cookie, no id, no toolbar.
 */
export class PageCacheListener {
  readonly #store: PageStore
  readonly #logger: Logger
  readonly #now: () => number
  readonly #flights = new Map<string, Flight>()
  readonly #passing = new Set<string>()
  readonly #making = new WeakMap<Request, Making>()
  /** The tags of the fragments of a main request. */
  readonly #tags = new WeakMap<Request, Set<string>>()
  /** Main requests with a fragment that is not for all clients. */
  readonly #personal = new WeakSet<Request>()
  /** By main request: the stale pages that were sent, and have to be made again. */
  readonly #stale = new WeakMap<Request, [request: Request, making: Making][]>()

  /** Tags that controllers have set since the start, up to a limit. */
  readonly tags: Set<string> = new Set()
  #isOut = false

  constructor({ logger, now = Date.now, store }: PageCacheServices) {
    this.#store = store
    this.#logger = logger.channel('page-cache')
    this.#now = now
  }

  /** The first tag that no page of this process has had; `undefined` also if there were too many tags. */
  findUnknown(tags: readonly string[]): string | undefined {
    return this.tags.size < tagLimit ? tags.find(tag => !this.tags.has(tag)) : undefined
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', requestPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onAnswer', answerPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
    dispatcher.subscribe(FinishRequestEvent, this, 'onFinish')
    dispatcher.subscribe(TerminateEvent, this, 'onTerminate')
  }

  /** Removes pages by their tags. Later requests do not wait for pages that are being made now. */
  async purge(tags: readonly string[]): Promise<void> {
    this.#flights.clear()
    await this.#store.purge(tags)
  }

  onRequest(event: RequestEvent): Promise<void> | undefined {
    const { givenController, request } = event
    const isAsked = givenController === undefined && mayBeStored(request) && !this.#making.has(request)
    return isAsked ? this.#answer(event, toKey(request)) : undefined
  }

  /** Notes what the controller has answered. */
  onAnswer({ request, response }: ResponseEvent): void {
    if (request.parent !== undefined) this.#noteFragment(request, response)
    const making = this.#making.get(request)
    if (making === undefined) return
    making.tags = readTags(response.headers)
    for (const tag of making.tags) if (this.tags.size < tagLimit) this.tags.add(tag)
    const { body, headers, status } = response
    if (body !== null && typeof body !== 'string' && !(body instanceof Uint8Array)) return
    // The controller may use its bytes again.
    const copy = typeof body === 'string' || body === null ? body : Uint8Array.from(body)
    making.answer = { status, headers: [...headers].filter(([name]) => !ownHeaders.test(name)), body: copy }
  }

  /**
   * Stores the page if the complete response allows it. Waits until the store has it, or has
   * purged what a request has changed.
   */
  onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> | undefined {
    response.headers.delete('cache-tag')
    const making = this.#making.get(request)
    if (making !== undefined) return this.#finish(making, request, response)
    if (!isMainRequest || isSafe(request.method) || response.status >= 400) return undefined
    return this.#try('purge', () => this.purge(findChanged(request, response)))
  }

  /** A request that was not answered at all lets the others go on. */
  onFinish({ request }: KernelEvent): void {
    const making = this.#making.get(request)
    if (making !== undefined) this.#land(making, undefined)
  }

  async onTerminate({ kernel, request }: TerminateEvent): Promise<void> {
    const stale = this.#stale.get(request) ?? []
    this.#stale.delete(request)
    await Promise.all(stale.map(([each, making]) => this.#refresh(kernel, each, making)))
  }

  async #answer(event: RequestEvent, key: string): Promise<void> {
    const { request } = event
    const started = this.#now()
    for (;;) {
      const page = await this.#read(key, request)
      const now = this.#now()
      if (page !== undefined && now < page.freshUntil) return this.#respond(event, page, false)
      const flightKey = page === undefined ? key : toVariantKey(key, toVariant(request, page.vary))
      if (page !== undefined && now < page.staleUntil) {
        this.#respond(event, page, true)
        if (!this.#flights.has(flightKey)) this.#refreshLater(request, this.#begin(key, flightKey, request, true))
        return
      }
      const flight = this.#passing.has(flightKey) ? undefined : this.#flights.get(flightKey)
      if (flight === undefined) {
        // The answer to HEAD may lack the body.
        if (request.method === 'GET') {
          this.#making.set(request, this.#begin(key, flightKey, request, !this.#passing.has(flightKey)))
        }
        return
      }
      const made = await withinTime(flight.page, waitLimit - (this.#now() - started))
      if (made === undefined) {
        if (request.method === 'GET') this.#making.set(request, this.#begin(key, flightKey, request, false))
        return
      }
      if (made.variant === toVariant(request, made.vary)) return this.#respond(event, made, false)
      // It depends on a header, so this request needs another page.
    }
  }

  #begin(key: string, flightKey: string, request: Request, isAwaited: boolean): Making {
    const sessionUses = request.requestedSession?.useCount ?? 0
    if (!isAwaited) return { key, flightKey, flight: undefined, createdAt: this.#now(), sessionUses }
    let land!: Flight['land']
    const page = new Promise<StoredPage | undefined>(resolve => {
      land = resolve
    })
    const flight = { page, land }
    this.#flights.set(flightKey, flight)
    return { key, flightKey, flight, createdAt: this.#now(), sessionUses }
  }

  #land({ flight, flightKey }: Making, page: StoredPage | undefined): void {
    if (flight === undefined) return
    if (this.#flights.get(flightKey) === flight) this.#flights.delete(flightKey)
    flight.land(page)
  }

  async #read(key: string, request: Request): Promise<StoredPage | undefined> {
    const last = await this.#try('read', async () => this.#store.read(key))
    if (last === undefined) return undefined
    const variant = toVariant(request, last.vary)
    if (variant === last.variant) return last
    const other = await this.#try('read', async () => this.#store.read(toVariantKey(key, variant)))
    // The page of another variant has the names of the headers on which this one depends.
    return other ?? { ...last, freshUntil: 0, staleUntil: 0 }
  }

  #respond(event: RequestEvent, page: StoredPage, isStale: boolean): void {
    const { request } = event
    const age = Math.max(0, Math.floor((this.#now() - page.storedAt) / 1000))
    const headers = new Headers(page.headers)
    headers.set('age', String(age))
    request.attributes.set('_page_cache', { age, isStale })
    this.#addTags(request, page.tags)
    event.respond(new Response(page.body, { status: page.status, headers }))
  }

  async #finish(making: Making, request: Request, response: Response): Promise<void> {
    const page = this.#toPage(making, request, response)
    this.#making.delete(request)
    if (page === undefined) {
      this.#passing.delete(making.flightKey)
      this.#passing.add(making.flightKey)
      for (const oldest of this.#passing) if (this.#passing.size > passLimit) this.#passing.delete(oldest)
      return this.#land(making, undefined)
    }
    this.#passing.delete(making.flightKey)
    this.#addTags(request, page.tags)
    await this.#try('write', () => this.#write(making.key, page))
    this.#land(making, page)
  }

  async #write(key: string, page: StoredPage): Promise<void> {
    // Under both keys: a look-up begins without the variant.
    if (page.vary.length > 0) await this.#store.write(toVariantKey(key, page.variant), page)
    await this.#store.write(key, page)
  }

  #toPage(making: Making, request: Request, response: Response): StoredPage | undefined {
    const { answer, createdAt, sessionUses, tags = [] } = making
    const { headers, status } = response
    const now = this.#now()
    const freshness = readSharedFreshness(headers, now)
    const vary = readVary(headers)
    const isPersonal =
      headers.has('set-cookie') ||
      (request.requestedSession?.useCount ?? 0) > sessionUses ||
      this.#personal.has(request) ||
      vary.includes('*')
    if (answer === undefined || freshness === undefined || isPersonal) return undefined
    if (request.hasFailed || answer.status !== status || status !== 200) return undefined
    const type = headers.get('content-type')
    const isTyped = type === null || answer.headers.some(([name]) => name.toLowerCase() === 'content-type')
    return {
      ...answer,
      headers: isTyped ? answer.headers : [...answer.headers, ['content-type', type]],
      createdAt,
      storedAt: now - (Number(headers.get('age')) || 0) * 1000,
      freshUntil: now + freshness.fresh * 1000,
      staleUntil: now + (freshness.fresh + freshness.stale) * 1000,
      vary,
      variant: toVariant(request, vary),
      tags: [...new Set(['*', toUrlTag(request), ...tags, ...(this.#tags.get(request) ?? [])])],
    }
  }

  /** A page has the tags of its fragments, and is not stored if one of them is for one client. */
  #noteFragment(fragment: Request, { headers }: Response): void {
    const control = parseDirectives(headers.get('cache-control') ?? '')
    const policy = fragment.attributes.get('_cache') || undefined
    const isPrivate = control.has('private') || control.has('no-store') || (policy !== undefined && !isShared(policy))
    for (let page = fragment.parent; page !== undefined; page = page.parent) {
      if (isPrivate) this.#personal.add(page)
    }
    this.#addTags(fragment, readTags(headers))
  }

  #addTags(request: Request, tags: readonly string[]): void {
    for (let page = request.parent; page !== undefined && tags.length > 0; page = page.parent) {
      const all = this.#tags.get(page) ?? new Set()
      for (const tag of tags) all.add(tag)
      this.#tags.set(page, all)
    }
  }

  #refreshLater(request: Request, making: Making): void {
    let main = request
    while (main.parent !== undefined) main = main.parent
    this.#stale.set(main, [...(this.#stale.get(main) ?? []), [request, making]])
  }

  async #refresh(kernel: RequestKernel, request: Request, making: Making): Promise<void> {
    const again = request.duplicate({ method: 'GET' })
    this.#making.set(again, { ...making, createdAt: this.#now(), sessionUses: again.requestedSession?.useCount ?? 0 })
    try {
      await kernel.handle(again, { catchErrors: false })
    } catch (exception) {
      this.#logger.withRequestId(request.id).warning('The page {url} could not be made again.', {
        url: request.url,
        exception,
      })
    } finally {
      this.#land(making, undefined)
    }
  }

  /** A store that fails must not fail the page. It is logged once, until the store works again. */
  async #try<result>(verb: string, task: () => Promise<result>): Promise<result | undefined> {
    try {
      const result = await task()
      this.#isOut = false
      return result
    } catch (exception) {
      if (!this.#isOut) this.#logger.warning('The page cache could not {verb}.', { verb, exception })
      this.#isOut = true
      return undefined
    }
  }
}

/** Whether a request may be answered by a page for all clients, and may make one. */
function mayBeStored({ attributes, hasBody, headers, method }: Request): boolean {
  const policy = isRetrieval(method) ? attributes.get('_cache') : undefined
  if (!policy || !isShared(policy) || hasBody) return false
  return !['authorization', 'range'].some(name => headers.has(name))
}

/** The tags in the header Cache-Tag of a response: `events, event-7`. */
function readTags(headers: Headers): string[] {
  const tags = headers.getAll('cache-tag').flatMap(value => value.split(','))
  return tags.map(tag => tag.trim()).filter(tag => tag !== '')
}

/** The names in Vary, in an order of their own. A response that one origin may read depends on Origin. */
function readVary(headers: Headers): string[] {
  const names = headers.getAll('vary').flatMap(value => value.toLowerCase().split(','))
  if ((headers.get('access-control-allow-origin') ?? '*') !== '*') names.push('origin')
  return [...new Set(names.map(name => name.trim()))].filter(name => name !== '').sort()
}

/**
 * The tags of the pages that a successful POST and the like has changed: of its URL, and of that
 * in Location (RFC 9111, section 4.4).
 */
function findChanged(request: Request, { headers }: Response): string[] {
  const { basePath } = request
  const tags = [toUrlTag(request)]
  const location = headers.get('location') ?? headers.get('content-location') ?? ''
  const url = URL.canParse(location, request.url) ? new URL(location, request.url) : undefined
  if (url !== undefined && url.origin === request.origin && url.pathname.startsWith(basePath)) {
    const rawPath = url.pathname.slice(basePath.length)
    tags.push(toUrlTag({ origin: request.origin, basePath, rawPath, queryString: url.search.slice(1) }))
  }
  return tags
}

/** The value of a promise; `undefined` after some milliseconds. */
async function withinTime<value>(promise: Promise<value>, milliseconds: number): Promise<value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, milliseconds, undefined).unref()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
