import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import { maskAndCut } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { probePath } from '../client/browser-probes.ts'
import { schemaVersion } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { clientOf } from './fingerprint.ts'
import type { Profiler } from './profiler.ts'

/** Milliseconds: browsers load the files of a page at once. A request that follows later has another reason. */
const lifetime = 60_000

/** Files of one page that are kept. */
const assetLimit = 20

const pathLength = 500

/** Several requests for one page have the same address: those of the client are looked for among the latest ones. */
const pageLimit = 20

/** The services of {@link MissingAssetsListener}. */
export interface MissingAssetsServices {
  readonly profiler: Pick<Profiler, 'whenIdle'>
  readonly storage: Pick<ProfileStorage, 'amend' | 'search'>
  readonly redactor: Redactor
}

/**
 * Adds the files that a page refers to, and that were answered with 404, to the profile of the page. The requests for files
 * have no profiles: the page is the one that `Referer` names.
 */
export class MissingAssetsListener {
  readonly #services: MissingAssetsServices
  /** Each search and each change of a profile follows the one before it. */
  #last: Promise<void> = Promise.resolve()

  constructor(services: MissingAssetsServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse')
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (response.status !== 404 || !isMainRequest) return
    const page = findPage(request)
    if (page === undefined) return
    const path = maskAndCut(request.path, pathLength, this.#services.redactor)
    const { profiler } = this.#services
    this.#last = this.#last
      .then(() => profiler.whenIdle())
      .then(() => this.#add(path, page, clientOf(request)))
      // The page has no such finding.
      .catch(() => undefined)
  }

  async #add(path: string, page: string, client: string): Promise<void> {
    const { redactor, storage } = this.#services
    const url = redactor.text(page)
    const from = Date.now() - lifetime
    const { summaries } = await storage.search({
      filters: [
        { field: 'url', test: 'contains', value: url },
        { field: 'time', test: 'from', value: from },
      ],
      limit: pageLimit,
    })
    const found = summaries.find(summary => summary.url === url && summary.client === client && summary.parent === null)
    if (found === undefined) return
    await storage.amend(found.token, ({ children, collectors, data, failures, summary }) => {
      const { paths } = collectors.missing ?? { paths: [] }
      if (paths.includes(path) || paths.length === assetLimit) return undefined
      const missing = { paths: [...paths, path] }
      const profile = { schemaVersion, summary, children, data: { ...data, missing }, failures }
      return { summary, text: redactor.knownSecrets(JSON.stringify(profile)) }
    })
  }
}

/** The destinations of files that a page refers to (W3C Fetch Metadata). A script may look for other files on purpose. */
const destinations: ReadonlySet<string> = new Set([
  ...['style', 'script', 'image', 'font', 'audio', 'video', 'track', 'manifest', 'embed', 'object', 'worker'],
])

/** The address of the page that refers to a file; `undefined` if the request is for no file of a page of this server. */
function findPage({ headers, method, origin, path }: Request): string | undefined {
  const referer = headers.get('referer') ?? ''
  if ((method !== 'GET' && method !== 'HEAD') || probePath.test(path) || !URL.canParse(referer)) return undefined
  const destination = headers.get('sec-fetch-dest')
  const isFile = destination === null ? /\.[a-z0-9]{2,5}$/i.test(path) : destinations.has(destination)
  const page = new URL(referer)
  page.hash = ''
  return isFile && page.origin === origin ? page.href : undefined
}
