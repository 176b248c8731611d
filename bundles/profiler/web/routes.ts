import { currentRequest } from '../../../kernel/argument-sources.ts'
import type { SourceProblem } from '../../../kernel/bundle.ts'
import { type Controller, defineController } from '../../../kernel/controller.ts'
import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { processStart } from '../../../lib/process-start.ts'
import type { Signals } from '../../../lib/signals.ts'
import { showPath } from '../../../lib/stack/stack-frames.ts'
import { parseListRequest } from '../insight/list-request.ts'
import { hasMark } from '../insight/search-list.ts'
import { isBrowserProbe } from '../insight/summary-view.ts'
import { formatPlace, shorten } from '../profile/format.ts'
import { brokenLink, cpuLink, dataForms, home, openEditorLink, routesLink, stateLink } from '../profile/links.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { clientOf } from '../record/collect.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { seesProfiler } from './access.ts'
import type { Assets } from './assets.ts'
import { PROFILER_ASSET_UNKNOWN } from './errors.ts'
import { addSizeHelpers } from './page-size.ts'
import type { Page, Pages } from './pages/pages.ts'
import type { ProfilerApplication } from './profiler-application.ts'
import { protect } from './respond.ts'

/** A route, and the page that answers its requests. */
interface PageRoute {
  readonly method: 'GET' | 'POST'
  readonly name: string
  readonly path: string
  readonly page: keyof Pages
  readonly requirements?: Readonly<Record<string, string>>
  /** Bytes of a body; by default the limit of the application. */
  readonly bodyLimit?: number
}

// A path with another ending is the path of a profile.
const requirements = { form: dataForms.join('|') }

/** In the order in which the router tries them: a path with a parameter comes after the words that it would match. */
const pageRoutes: readonly PageRoute[] = [
  { method: 'POST', name: '_profiler_purge', path: `${home}purge`, page: 'purge' },
  { method: 'POST', name: '_profiler_pause', path: `${home}pause`, page: 'pause' },
  { method: 'POST', name: '_profiler_resume', path: `${home}resume`, page: 'resume' },
  { method: 'POST', name: '_profiler_open_editor', path: openEditorLink, page: 'openEditor' },
  { method: 'POST', name: '_profiler_pin', path: `${home}:token/pin`, page: 'pin' },
  { method: 'POST', name: '_profiler_unpin', path: `${home}:token/unpin`, page: 'unpin' },
  { method: 'POST', name: '_profiler_replay', path: `${home}:token/replay`, page: 'replay' },
  { method: 'POST', name: '_profiler_verify', path: `${home}:token/verify`, page: 'verify' },
  { method: 'POST', name: '_profiler_cpu_arm', path: `${cpuLink}/arm`, page: 'armCpu' },
  { method: 'POST', name: '_profiler_cpu_disarm', path: `${cpuLink}/disarm`, page: 'disarmCpu' },
  { method: 'GET', name: '_profiler_cpu', path: cpuLink, page: 'cpu' },
  { method: 'GET', name: '_profiler_broken', path: brokenLink(), page: 'broken' },
  {
    method: 'POST',
    name: '_wdt_browser_errors',
    path: '/_wdt/:token/browser-errors',
    page: 'browserErrors',
    // 20 errors of 4,000 characters, also if most of these have two bytes.
    bodyLimit: 128 * 1024,
  },
  { method: 'GET', name: '_wdt', path: '/_wdt/:token', page: 'toolbar' },
  { method: 'GET', name: '_profiler_search_data', path: `${home}search.:form`, requirements, page: 'listData' },
  { method: 'GET', name: '_profiler_latest_data', path: `${home}latest.:form`, requirements, page: 'latestData' },
  { method: 'GET', name: '_profiler_routes_data', path: `${home}routes.:form`, requirements, page: 'routesData' },
  { method: 'GET', name: '_profiler_data', path: `${home}:token.:form`, requirements, page: 'profileData' },
  { method: 'GET', name: '_profiler_export', path: `${home}:token/export/:kind`, page: 'export' },
  { method: 'GET', name: '_profiler_palette', path: `${home}palette`, page: 'palette' },
  { method: 'GET', name: '_profiler_home', path: home, page: 'home' },
  { method: 'GET', name: '_profiler_search', path: `${home}search`, page: 'search' },
  { method: 'GET', name: '_profiler_latest', path: `${home}latest`, page: 'latest' },
  { method: 'GET', name: '_profiler_routes', path: routesLink(), page: 'routes' },
  { method: 'GET', name: '_profiler_route', path: `${home}route`, page: 'route' },
  { method: 'GET', name: '_profiler_compare', path: `${home}compare`, page: 'compare' },
  { method: 'GET', name: '_profiler_replay_form', path: `${home}:token/replay`, page: 'replayForm' },
  { method: 'GET', name: '_profiler_content', path: `${home}:token/content`, page: 'content' },
  { method: 'GET', name: '_profiler_open_file', path: `${home}open`, page: 'openFile' },
  { method: 'GET', name: '_profiler_search_results', path: `${home}:token/search/results`, page: 'list' },
  // The name is Symfony's.
  { method: 'GET', name: '_profiler', path: `${home}:token`, page: 'profile' },
]

// These routes neither load the pages nor wait for requests that have just ended.
const assetRoute = { method: 'GET', name: '_profiler_asset', path: `${home}assets/:version/:file` } as const
const liveRoute = { method: 'GET', name: '_profiler_live', path: `${home}live` } as const
const stateRoute = { method: 'GET', name: '_profiler_state', path: stateLink } as const

/**
 * Adds the profiler's routes and gives their controllers. Clients that the gate of debug output refuses, and other
 * sites, get the router's own 404. The pages are loaded with the first request for one.
 */
export function addRoutes(app: ProfilerApplication): readonly Controller[] {
  const { assets, debugGate, profiler, routes, signals, storage, view } = app
  const states = new StateStreams(signals, app.directory)
  let pages: Promise<Pages> | undefined
  // Panels are rendered before their page: `{{fragment panel}}` inserts the HTML.
  view.addHelper('fragment', ({ positional: [fragment] }) => fragment)
  addSizeHelpers(view)

  const lazyPage = (page: keyof Pages) => async (request: Request) => {
    // The pages also show requests that have just ended.
    await profiler.whenIdle()
    pages ??= import('./pages/pages.ts').then(({ createPages }) => createPages(app))
    return (await pages)[page](request)
  }
  const condition = (request: Request) => seesProfiler(request, debugGate)
  const add = ({
    bodyLimit,
    name,
    method,
    page,
    ...route
  }: Omit<PageRoute, 'page'> & { readonly page: Page }): Controller => {
    const controller = defineController(controllerNames.get(name) ?? name.slice(1), [currentRequest], page)
    // The log is for the application's own requests. The token of a profile gives access to nothing.
    const defaults = { _log: false, _public: ['token'], ...(bodyLimit !== undefined && { _body_limit: bodyLimit }) }
    routes.add({ ...route, name, methods: [method], controller, condition, defaults })
    return controller
  }
  // The supervisor shows the page at each path in the place of an application that cannot start.
  app.controllers.register(
    'broken_sources_controller',
    defineController('broken_sources', [currentRequest], lazyPage('broken')),
  )
  return [
    add({ ...assetRoute, page: request => respondAsset(request, assets) }),
    add({ ...liveRoute, page: request => protect(createLiveStream(request, storage)) }),
    add({ ...stateRoute, page: request => protect(states.open(request)) }),
    ...pageRoutes.map(route => add({ ...route, page: lazyPage(route.page) })),
  ]
}

const controllerNames: ReadonlyMap<string, string> = new Map([['_wdt', 'profiler_toolbar']])

function respondAsset({ attributes }: Request, assets: Assets): Response {
  const [version, name] = [String(attributes.get('version')), String(attributes.get('file'))]
  const asset = assets.find(version, name)
  if (asset === undefined) throw new PROFILER_ASSET_UNKNOWN([name])
  // The address changes with the content. `private`: not in caches that clients share.
  const headers = { 'content-type': asset.type, 'cache-control': 'private, max-age=31536000, immutable' }
  return protect(new Response(asset.content, { headers }))
}

/** Milliseconds between a profile and its event: sub-requests are stored just before the request that they belong to. */
const delay = 100

/** The most tokens of one event. */
const tokenLimit = 100

/**
 * Creates a stream of events about new profiles of all processes that the list of the same address contains: `profiles`
 * with their tokens, or `reload` if there are too many. Only the list itself knows whether a request is slow or has findings:
 * the stream may report more.
 */
export function createLiveStream(request: Request, storage: Pick<ProfileStorage, 'tail'>): EventStream {
  const { isOfProbes, marks, matches } = parseListRequest(request.query)
  const context = { client: clientOf(request), isSlow: () => true, findings: new Set<string>() }
  const isMarked = (summary: ProfileSummary) =>
    marks.every(mark => mark === 'findings' || hasMark(mark, summary, context))
  return new EventStream(request, stream => {
    const reporter = new ProfileReporter(stream)
    const stop = storage.tail(summary => {
      if (isBrowserProbe(summary) === isOfProbes && matches(summary) && isMarked(summary)) reporter.add(summary.token)
    })
    return () => {
      stop()
      reporter.stop()
    }
  })
}

/** Reports to one client. At most a few tokens wait for it: a slow client gets `reload`. */
class ProfileReporter {
  readonly #stream: EventStream
  readonly #tokens = new Set<string>()
  #hasLost = false
  #timer: NodeJS.Timeout | undefined

  constructor(stream: EventStream) {
    this.#stream = stream
  }

  add(token: string): void {
    if (this.#tokens.size === tokenLimit) this.#hasLost = true
    else this.#tokens.add(token)
    this.#sendSoon()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.#send(), delay).unref()
  }

  #send(): void {
    this.#timer = undefined
    if (this.#stream.isBehind) {
      this.#sendSoon()
      return
    }
    if (this.#hasLost) this.#stream.send({ event: 'reload', data: 'many' })
    else this.#stream.send({ event: 'profiles', data: [...this.#tokens].join(' ') })
    this.#tokens.clear()
    this.#hasLost = false
  }
}

/** The state of the application. */
interface ApplicationState {
  /** When its code came into use, in milliseconds since 1970: the start of the process, or its last read of templates. */
  readonly version: number
  /** The first mistake in changed files that cannot be used, such as `shop.ts:12: …`; empty without one. */
  readonly problem: string
  /** The number of type errors in the code that is used. */
  readonly typeErrors: number
}

/** Follows the state of the application, and reports it to pages. */
export class StateStreams {
  readonly #streams = new Set<EventStream>()
  #state: ApplicationState = { version: Math.round(processStart()), problem: '', typeErrors: 0 }

  /** `directory` is that of the application. */
  constructor(signals: Signals, directory: string) {
    signals.on('files.changed', () => this.#set({ ...this.#state, version: Date.now() }))
    signals.on('sources.broken', ({ problems, served }) => {
      const [first] = problems
      const isUsed = served === 'current'
      const problem = first === undefined || isUsed ? '' : describe(first, directory)
      this.#set({ ...this.#state, problem, typeErrors: isUsed ? problems.length : 0 })
    })
  }

  /** Creates a stream of events `state`: the state now, then after each change. It ends with the process. */
  open(request: Request): EventStream {
    return new EventStream(request, stream => {
      this.#streams.add(stream)
      stream.send({ event: 'state', data: this.#state })
      return () => this.#streams.delete(stream)
    })
  }

  #set(state: ApplicationState): void {
    this.#state = state
    for (const stream of this.#streams) stream.send({ event: 'state', data: state })
  }
}

const messageLimit = 200

function describe({ file = '', line, message }: SourceProblem, directory: string): string {
  const place = file === '' ? '' : `${formatPlace({ file: showPath(file, directory), line })}: `
  return `${place}${shorten(message, messageLimit)}`
}
