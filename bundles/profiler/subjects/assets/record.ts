import type { ResponseEvent } from '../../../../kernel/events.ts'
import type { EventDispatcher } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import { isRetrieval } from '../../../../lib/http/conditions.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { pause as delay, readTime } from '../../../../lib/own-globals.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import { probePath } from '../../client/browser-probes.ts'
import { type AmendServices, amendProfile, clientOf } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'

/** Milliseconds: browsers load the files of a page at once. A request that follows later has another reason. */
const lifetime = 60_000

/** Files of one page that are kept. */
const assetLimit = 20

const pathLength = 500

/** Several requests for one page have the same address: those of the client are looked for among the latest ones. */
const candidateLimit = 20

/** Pages whose files wait to be added. Files of further pages are left out. */
const pageLimit = 50

/** Milliseconds between two changes of the profile of a page. */
const pause = 1000

/** The files of a page that a client has asked for, and that are not yet in the profile of the page. */
interface WaitingPage {
  readonly page: string
  readonly client: string
  readonly paths: Set<string>
}

/** The services of {@link MissingAssetsListener}. */
interface MissingAssetsServices extends AmendServices {
  readonly profiler: Pick<Profiler, 'whenIdle'>
  readonly storage: Pick<ProfileStorage, 'amend' | 'search'>
}

/**
 * Adds the files that a page refers to, and that were answered with 404, to the profile of the
 * page. The requests for files have no profiles: the page is the one that `Referer` names.
 */
export class MissingAssetsListener {
  readonly #services: MissingAssetsServices
  /** The waiting pages by client and page. */
  readonly #waiting = new Map<string, WaitingPage>()
  #isWriting = false

  constructor(services: MissingAssetsServices) {
    this.#services = services
  }

  /** Other servers than a kernel have no such event, and load no code of it. */
  subscribe(dispatcher: EventDispatcher, event: typeof ResponseEvent): void {
    dispatcher.subscribe(event, this, 'onResponse')
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (response.status === 404 && isMainRequest) this.note(request)
  }

  /** Notes a main request that was answered with 404. */
  note(request: Request): void {
    const page = findPage(request)
    if (page === undefined) return
    const client = clientOf(request)
    const key = `${client} ${page}`
    const waiting = this.#waiting.get(key) ?? { page, client, paths: new Set() }
    if (waiting.paths.size === assetLimit || (waiting.paths.size === 0 && this.#waiting.size === pageLimit)) return
    waiting.paths.add(maskAndCut(request.path, pathLength, this.#services.redactor))
    this.#waiting.set(key, waiting)
    if (!this.#isWriting) void this.#write()
  }

  /** Adds what waits, once a second: many requests for files are one change of the profile of their page. */
  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.size > 0) {
      await this.#services.profiler.whenIdle()
      const pages = [...this.#waiting.values()]
      this.#waiting.clear()
      // A page whose change fails has no such finding.
      for (const page of pages) await this.#add(page).catch(() => undefined)
      // A process that ends does not wait for it.
      await delay(pause, undefined, { ref: false })
    }
    this.#isWriting = false
  }

  async #add({ client, page, paths }: WaitingPage): Promise<void> {
    const { redactor, storage } = this.#services
    const url = redactor.text(page)
    const from = readTime() - lifetime
    const { summaries } = await storage.search({
      filters: [
        { field: 'url', test: 'contains', value: url },
        { field: 'time', test: 'from', value: from },
      ],
      limit: candidateLimit,
    })
    const found = summaries.find(summary => summary.url === url && summary.client === client && summary.parent === null)
    if (found === undefined) return
    await amendProfile(this.#services, found.token, ({ collectors }) => {
      const known = collectors.missing?.paths ?? []
      const all = [...new Set([...known, ...paths])].slice(0, assetLimit)
      return all.length === known.length ? undefined : { data: { missing: { paths: all } } }
    })
  }
}

/**
 * The destinations of files that a page refers to (W3C Fetch Metadata). A script may look for other files on purpose.
 */
const destinations: ReadonlySet<string> = new Set([
  ...['style', 'script', 'image', 'font', 'audio', 'video', 'track', 'manifest', 'embed', 'object', 'worker'],
])

/**
 * The address of the page that refers to a file; `undefined` if the request is for no file of a page of this server.
 */
function findPage({ headers, method, origin, path }: Request): string | undefined {
  const referer = headers.get('referer') ?? ''
  if (!isRetrieval(method) || probePath.test(path) || !URL.canParse(referer)) return undefined
  const destination = headers.get('sec-fetch-dest')
  const isFile = destination === null ? /\.[a-z0-9]{2,5}$/i.test(path) : destinations.has(destination)
  const page = new URL(referer)
  page.hash = ''
  return isFile && page.origin === origin ? page.href : undefined
}
