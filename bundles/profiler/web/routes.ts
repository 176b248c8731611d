import type { SourceProblem } from '../../../kernel/bundle.ts'
import { type Controller, defineController } from '../../../kernel/controller.ts'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import { isRetrieval } from '../../../lib/http/conditions.ts'
import { findCrossOrigin } from '../../../lib/http/cors.ts'
import { EventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { readTime } from '../../../lib/own-globals.ts'
import { processStart } from '../../../lib/process-start.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { RouteMatcher } from '../../../lib/routing/route-matcher.ts'
import type { Signals } from '../../../lib/signals.ts'
import { showPath } from '../../../lib/stack/stack-frames.ts'
import { formatPlace, shorten } from '../profile/format.ts'
import {
  brokenLink,
  cpuLink,
  dataForms,
  home,
  isOwnPath,
  mailsLink,
  openEditorLink,
  routesLink,
  stateLink,
} from '../profile/links.ts'
import type { Assets } from './assets.ts'
import { PROFILER_ASSET_UNKNOWN } from './errors.ts'
import { addSizeHelpers, type ProfilerApplication, protect } from './page.ts'
import type { Page, Pages } from './pages/pages.ts'

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

// Another ending belongs to the token: `/_profiler/abc.xml` is the page of the profile `abc.xml`.
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
  { method: 'GET', name: '_profiler_search_data', path: `${home}search.:form`, requirements, page: 'list' },
  { method: 'GET', name: '_profiler_latest_data', path: `${home}latest.:form`, requirements, page: 'latest' },
  { method: 'GET', name: '_profiler_routes_data', path: `${home}routes.:form`, requirements, page: 'routes' },
  { method: 'GET', name: '_profiler_mails_data', path: `${mailsLink}.:form`, requirements, page: 'mails' },
  { method: 'GET', name: '_profiler_data', path: `${home}:token.:form`, requirements, page: 'profile' },
  { method: 'GET', name: '_profiler_export', path: `${home}:token/export/:kind`, page: 'export' },
  { method: 'GET', name: '_profiler_palette', path: `${home}palette`, page: 'palette' },
  { method: 'GET', name: '_profiler_home', path: home, page: 'home' },
  { method: 'GET', name: '_profiler_search', path: `${home}search`, page: 'search' },
  { method: 'GET', name: '_profiler_latest', path: `${home}latest`, page: 'latest' },
  { method: 'GET', name: '_profiler_routes', path: routesLink(), page: 'routes' },
  { method: 'GET', name: '_profiler_mails', path: mailsLink, page: 'mails' },
  { method: 'GET', name: '_profiler_route', path: `${home}route`, page: 'route' },
  { method: 'GET', name: '_profiler_compare', path: `${home}compare`, page: 'compare' },
  { method: 'GET', name: '_profiler_replay_form', path: `${home}:token/replay`, page: 'replayForm' },
  { method: 'GET', name: '_profiler_content', path: `${home}:token/content`, page: 'content' },
  { method: 'GET', name: '_profiler_mail', path: `${home}:token/mail/:index`, page: 'mail' },
  { method: 'GET', name: '_profiler_open_file', path: `${home}open`, page: 'openFile' },
  { method: 'GET', name: '_profiler_search_results', path: `${home}:token/search/results`, page: 'list' },
  // The name is Symfony's.
  { method: 'GET', name: '_profiler', path: `${home}:token`, page: 'profile' },
]

/**
 * Adds the profiler's routes and gives their controllers. Clients that the debug gate refuses, and other sites, get the
 * 404 of the router. The pages are loaded with the first request for one.
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
  const add = ({ bodyLimit, name, method, ...route }: Omit<PageRoute, 'page'>, page: Page): Controller => {
    const controllerName = name === '_wdt' ? 'profiler_toolbar' : name.slice(1)
    const controller = defineController(controllerName, page)
    // The log is for the application's own requests. The token of a profile gives access to nothing.
    const defaults = { _log: false, _public: ['token'], ...(bodyLimit !== undefined && { _body_limit: bodyLimit }) }
    routes.add({ ...route, name, methods: [method], controller, condition, defaults })
    return controller
  }
  // The supervisor shows the page at each path in the place of an application that cannot start.
  app.controllers.register('broken_sources_controller', defineController('broken_sources', lazyPage('broken')))
  // These three do not wait for requests that have just ended.
  const addGet = (name: string, path: string, page: Page) => add({ method: 'GET', name, path }, page)
  return [
    addGet('_profiler_asset', `${home}assets/:version/:file`, request => respondAsset(request, assets)),
    addGet('_profiler_live', `${home}live`, async request => {
      const { createLiveStream } = await import('./pages/live-stream.ts')
      return protect(createLiveStream(request, storage))
    }),
    addGet('_profiler_state', stateLink, request => protect(states.open(request))),
    ...pageRoutes.map(({ page, ...route }) => add(route, lazyPage(page))),
  ]
}

function respondAsset({ attributes }: Request, assets: Assets): Response {
  const { file, version } = attributes.get('_route_params') ?? {}
  const name = String(file)
  const asset = assets.find(String(version), name)
  if (asset === undefined) throw new PROFILER_ASSET_UNKNOWN([name])
  // The address changes with the content. `private`: not in caches that clients share.
  const headers = { 'content-type': asset.type, 'cache-control': 'private, max-age=31536000, immutable' }
  return protect(new Response(asset.content, { headers }))
}

/** The parts of a request that say which page made it. */
type Fetch = Pick<Request, 'headers' | 'method' | 'origin'>

/**
 * Whether the profiler answers a fetch, by the headers that browsers send about the page that made it (Fetch Metadata,
 * and the Origin of RFC 6454). Another site can neither read a profile nor change anything. It can link to a page: the
 * developer who follows the link sees the page, the site does not. Programs without these headers may read only.
 */
export function acceptsFetch(request: Fetch): boolean {
  const { headers, method } = request
  if (!hasOwnOrigin(request)) return false
  const sign = findCrossOrigin(request)
  if (sign !== undefined) {
    const isLink = sign.value === 'cross-site' || sign.value === 'same-site'
    return isLink && method === 'GET' && isTopLevelNavigation(headers)
  }
  return isRetrieval(method) || headers.has('sec-fetch-site') || headers.has('origin')
}

/** Frames and embedded objects are navigated as well; their destination differs. */
function isTopLevelNavigation(headers: Fetch['headers']): boolean {
  return headers.get('sec-fetch-mode') === 'navigate' && (headers.get('sec-fetch-dest') ?? 'document') === 'document'
}

/**
 * Whether a request can be that of a program: its headers name no page of another site. A site that has the address
 * of this server under its own name (DNS rebinding) is of the same origin: the debug gate refuses that name.
 */
export function isProgram(request: Pick<Fetch, 'headers' | 'origin'>): boolean {
  return hasOwnOrigin(request) && findCrossOrigin(request) === undefined
}

/**
 * Whether the Origin is absent or that of this server. Sandboxed pages and some redirects send `null`, another origin.
 */
function hasOwnOrigin({ headers, origin }: Pick<Fetch, 'headers' | 'origin'>): boolean {
  const from = headers.get('origin')
  return from === null || from === origin
}

/** Whether a request is for a path of the profiler, and its client may not see debug output. */
export function isRefused(request: Request, debugGate: Pick<DebugGate, 'allows'>): boolean {
  return isOwnPath(request.path) && !debugGate.allows(request)
}

/** Whether the routes of the profiler exist for a request. */
export function seesProfiler(request: Request, debugGate: Pick<DebugGate, 'allows'>): boolean {
  return acceptsFetch(request) && debugGate.allows(request)
}

/** Finds whether a request leads to a page of the profiler, directly (`match`) or by a redirect of the router. */
export type FindOwnPage = (request: Request) => 'match' | 'redirect' | undefined

/**
 * Creates the function that finds the pages of the profiler by their controllers. These pages are not recorded, and are
 * shown without the listeners of the application, because a listener may be the error that the developer looks for.
 */
export function createFindOwnPage(routes: RouteCollection, controllers: ReadonlySet<unknown>): FindOwnPage {
  let matcher: RouteMatcher | undefined
  return request => {
    if (!isOwnPath(request.path)) return undefined
    // At the first request, all bundles have added their routes.
    matcher ??= new RouteMatcher(routes)
    const match = matcher.match(request)
    return 'route' in match && controllers.has(match.route.controller) ? match.outcome : undefined
  }
}

interface ApplicationState {
  /**
   * When its code came into use, in milliseconds since 1970: the start of the process, or its last read of templates.
   */
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
    signals.on('files.changed', () => this.#set({ ...this.#state, version: readTime() }))
    signals.on('sources.broken', ({ problems, served }) => {
      const [first] = problems
      const isUsed = served === 'current'
      const problem = first === undefined || isUsed ? '' : writeSourceProblem(first, directory)
      this.#set({ ...this.#state, problem, typeErrors: isUsed ? problems.length : 0 })
    })
  }

  /** Creates a stream of events `state`: the state now, then after each change. It ends with the process. */
  open(request: Request): EventStream {
    return new EventStream(request, stream => {
      this.#streams.add(stream)
      // Browsers wait for three seconds: a restart takes less.
      stream.send({ retry: 1000 })
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

/** Writes a mistake in a changed file, such as `shop.ts:12: …`. */
export function writeSourceProblem({ file = '', line, message }: SourceProblem, directory: string): string {
  const place = file === '' ? '' : `${formatPlace({ file: showPath(file, directory), line })}: `
  return `${place}${shorten(message, messageLimit)}`
}
