import type { Request } from '../../../../lib/http/request.ts'
import { statusText } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import type { NearRoute } from '../../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { nearestNames } from '../../../../lib/text/mistakes.ts'
import { templateOf } from '../../profile/code.ts'
import { type EventNode, type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { readExceptions } from '../../profile/exceptions.ts'
import { formatMicroseconds, toTarget } from '../../profile/format.ts'
import { profileLink, visitLink } from '../../profile/links.ts'
import { type Profile, toProfile } from '../../profile/profile.ts'
import { serializeProfile } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import { type CollectedData, Trace } from '../../record/trace.ts'
import { readLogs, type StoredLog } from '../../subjects/logs/read.ts'
import { readRouteLog } from '../../subjects/router/data.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import { type ExceptionsView, type FrameView, viewExceptions } from '../exceptions.ts'

/** The content of an error page, for HTML and Markdown. All of it is masked. */
export interface DebugReport extends ExceptionsView {
  readonly status: number
  readonly statusText: string
  /** The class of the error. */
  readonly name: string
  /** Never empty. */
  readonly message: string
  readonly method: string
  readonly address: string
  /** The id of the distributed trace; absent if there is none. */
  readonly traceId: string | undefined
  /** The first call with a source; absent without sources. */
  readonly first: FrameView | undefined
  readonly way: readonly Step[]
  /** Only if no route matched. */
  readonly routing: RoutingReport | undefined
  readonly logs: readonly LogReport[]
  /** The number of log messages before those. */
  readonly earlier: number
}

/** A log message. */
interface LogReport extends Pick<StoredLog, 'level' | 'channel' | 'message'> {
  readonly offset: string
  readonly place: PlaceView
}

/** The services that the report uses. */
export interface ReportServices {
  readonly routes: Iterable<Route>
  readonly editor: EditorLinks
}

const logLimit = 50

/** Creates the report of an error that is answered with a status. */
export function createReport(
  { lineage, profile, token }: Preview,
  status: number,
  services: ReportServices,
): DebugReport {
  const answered = readExceptions(profile).findLast(({ relation }) => relation === '' || relation === 'Thrown later')
  if (answered === undefined) throw new Error(`The error was not collected: ${profile.failures.exception}`)
  const { name, message } = answered
  const view = viewExceptions(profile, services.editor)
  const frames = view.exceptions.flatMap(({ groups }) => groups).flatMap(({ frames }) => frames)
  const { logs } = readLogs(profile)
  return {
    status,
    statusText: statusText(status),
    name,
    message: message || name,
    method: profile.summary.method,
    address: profile.summary.url,
    traceId: profile.collectors.request?.traceId,
    first: frames.find(({ isOpen }) => isOpen),
    way: findWay(lineage, token !== ''),
    routing: createRouting(profile, services),
    logs: logs.slice(-logLimit).map(log => ({
      ...log,
      offset: `+${formatMicroseconds(log.at)}`,
      place: services.editor.view({ ...log.caller, function: '' }),
    })),
    earlier: Math.max(0, logs.length - logLimit),
    ...view,
  }
}

/** One step on the path from a request to its error. */
interface Step {
  readonly kind: 'request' | 'route' | 'event' | 'listener' | 'controller' | 'template'
  readonly name: string
  /** Its place in the profile; empty when the profile will not be stored. */
  readonly link: string
}

/**
 * Finds the path from the main request to the code that threw: event, listener, controller, templates, and the same in sub-requests. A
 * stack ends at an await; the event tree contains the callers before it. There are no links if the profile is not stored.
 */
function findWay(lineage: readonly Profile[], isKept: boolean): Step[] {
  const steps = lineage.flatMap((profile, index) => {
    const next = lineage[index + 1]
    const tree = readEventTree(profile)
    const nodes = next === undefined ? findThrower(tree) : findSubRequest(tree, next.summary.token)
    const templates = next === undefined ? findTemplates(profile) : []
    return [...beginningOf(profile, index), ...describe(nodes, profile), ...templates]
  })
  return isKept ? steps : steps.map(step => ({ ...step, link: '' }))
}

function beginningOf({ collectors: { router }, summary }: Profile, index: number): Step[] {
  const name = index === 0 ? summary.method : 'sub-request'
  const route = router !== undefined && 'route' in router ? router.route : ''
  const matched: Step = { kind: 'route', name: route, link: profileLink(summary.token, 'router') }
  const begun: Step = { kind: 'request', name, link: profileLink(summary.token, 'request') }
  return [begun, ...(route === '' ? [] : [matched])]
}

/** The template that was rendered, and the partials down to the one that has failed. */
function findTemplates(profile: Profile): Step[] {
  const [exception] = readExceptions(profile)
  const link = profileLink(profile.summary.token, 'exception')
  const names = exception?.frames.map(({ call }) => templateOf(call)).filter(name => name !== undefined) ?? []
  return names.reverse().map(name => ({ kind: 'template', name, link }))
}

/** Events that are dispatched after the error. */
const aftermath: readonly string[] = ['kernel.exception', 'kernel.finish_request', 'kernel.terminate']

/** From the current dispatch to the innermost listener that threw; the dispatch alone when none of its listeners threw. */
function findThrower({ roots }: EventTree): EventNode[] {
  const dispatches = roots.filter(({ kind }) => kind === 'dispatch')
  const exception = dispatches.findLastIndex(({ name }) => name === 'kernel.exception')
  const before = exception === -1 ? dispatches : dispatches.slice(0, exception)
  const way: EventNode[] = []
  let node = before.findLast(({ name }) => !aftermath.includes(name))
  while (node !== undefined) {
    way.push(node)
    node = node.hasThrown ? node.children.findLast(({ hasThrown }) => hasThrown) : undefined
  }
  return way
}

function findSubRequest({ nodes }: EventTree, token: string): EventNode[] {
  const way: EventNode[] = []
  let node = nodes.find(({ kind, name }) => kind === 'request' && name === token)?.parent
  while (node !== undefined) {
    way.unshift(node)
    node = node.parent
  }
  return way
}

/** The work of the kernel between its events. */
const gaps: Readonly<Record<string, string>> = {
  'kernel.request': 'finding the controller',
  'kernel.controller': 'resolving its arguments',
}

function describe(way: readonly EventNode[], { summary }: Profile): Step[] {
  const [first] = way
  const { controller, token } = summary
  const atWork: Step[] =
    controller === null ? [] : [{ kind: 'controller', name: controller, link: profileLink(token, 'time') }]
  if (first === undefined) return atWork
  const steps = way.map((node): Step => {
    const link = `${profileLink(token, 'events')}#span-${node.index}`
    return { kind: node.kind === 'call' ? 'listener' : 'event', name: node.name, link }
  })
  // The application dispatches its own events while its controller runs.
  if (!first.name.startsWith('kernel.')) return [...atWork, ...steps]
  if (first.hasThrown || way.length > 1) return steps
  if (first.name === 'kernel.controller_arguments') return atWork
  const gap = gaps[first.name]
  return gap === undefined ? [...atWork, ...steps] : [...steps, { kind: 'controller', name: gap, link: '' }]
}

/** What previews need. */
export interface PreviewServices {
  readonly profiler: Pick<Profiler, 'find' | 'keeps'>
  /** Collects the data of a request that still runs. */
  readonly collect: (trace: Trace) => CollectedData
  readonly redactor: Redactor
}

/** The profile so far of a request that failed. It is masked, and not stored. */
export interface Preview {
  /** The profile of the request that failed. */
  readonly profile: Profile
  /** The profiles from the main request to the sub-request that threw: usually one. */
  readonly lineage: readonly Profile[]
  /** The token of the main request; empty when its profile will not be stored. */
  readonly token: string
}

/**
 * Creates the profile so far of the request that failed; `request` is the sub-request for its error page. If the request is
 * not recorded, the profile has no events and no log messages.
 */
export function createPreview(request: Request, { collect, profiler, redactor }: PreviewServices): Preview {
  const failed = request.parent ?? request
  const error = request.attributes.get('exception')
  const trace = profiler.find(failed) ?? createTrace(failed)
  // A listener that replaces the error late may still run.
  trace.addThrown(error)
  const preview = (trace: Trace): Profile =>
    toProfile(JSON.parse(serializeProfile(trace, collect(trace), redactor).text))
  const ancestors = ancestorsOf(trace)
  const [main = trace] = ancestors
  const profile = preview(trace)
  const lineage = [...ancestors.map(preview), profile, ...failedWithin(trace).map(preview)]
  return { profile, lineage, token: main.token !== '' && profiler.keeps(main) ? main.token : '' }
}

function createTrace(request: Request): Trace {
  const trace = new Trace('', request, undefined)
  const controller = request.attributes.get('_controller')
  const name = readProperty(controller, 'name')
  if (typeof name === 'string' && name !== '') trace.controller = name
  return trace
}

/** The main request first. */
function ancestorsOf({ parent }: Trace): Trace[] {
  return parent === undefined ? [] : [...ancestorsOf(parent), parent]
}

/** The last sub-request, if it ended without a response: its caller got the error. */
function failedWithin({ children }: Trace): Trace[] {
  const last = children.findLast(({ duration }) => duration !== undefined)
  return last === undefined || last.response !== undefined ? [] : [last, ...failedWithin(last)]
}

/** Why no route matched. */
export interface RoutingReport {
  /** Of a 405. */
  readonly allow: string
  /** A path that the nearest route would match; empty if none is similar. */
  readonly suggestion: string
  /** Those that are similar, the nearest first. */
  readonly rows: readonly MissedRoute[]
  /** The routes that are further away. */
  readonly folded: readonly MissedRoute[]
  /** Whether the results differ. */
  readonly hasResults: boolean
  /** Why there are no rows. */
  readonly emptyText: string
}

/** A route, and why the request did not match it. */
interface MissedRoute {
  readonly position: number
  readonly name: string
  readonly path: string
  /** Separated by commas; empty for all. */
  readonly methods: string
  readonly text: string
  readonly label: string
  readonly level: 'plain' | 'warning'
  /** The address of the route, if it has no parameters. */
  readonly link: string | undefined
  /** Its declaration. */
  readonly place: PlaceView
}

/** The services that the report uses. */
interface RoutingServices {
  readonly routes: Iterable<Route>
  readonly editor: EditorLinks
}

/**
 * Corrects the words of a path to those of a route, if each differs by two letters at most: `/produkt/3` becomes `/product/3` for
 * `/product/:id`. Empty if the route is not that similar.
 */
function suggestPath(address: string, near: NearRoute | undefined): string {
  if (near?.reason !== 'path' || address.includes(mask)) return ''
  const [path = '', query] = address.split('?')
  const given = path.split('/').slice(1)
  const wanted = near.path.split('/').slice(1)
  if (given.length !== wanted.length || /[{*]/.test(near.path)) return ''
  const corrected = given.map((word, index) => {
    const name = wanted[index] ?? ''
    return name.startsWith(':')
      ? word
      : name === word || (word.length > 3 && nearestNames(word, [name]).length > 0)
        ? name
        : undefined
  })
  if (corrected === undefined || corrected.includes(undefined) || corrected.includes('')) return ''
  return `/${corrected.join('/')}${query === undefined ? '' : `?${query}`}`
}

const shownLimit = 5

/** Creates the report of a request that no route has matched; `undefined` of another one. */
function createRouting(
  { collectors, summary }: Profile,
  { editor, routes }: RoutingServices,
): RoutingReport | undefined {
  const address = toTarget(summary.url)
  const log = readRouteLog(collectors.router)
  if (log === undefined) return undefined
  const declared = new Map(
    Array.from(routes, route => [route.name, { methods: route.methods.join(', '), link: visitLink(route) }]),
  )
  const hasRoutes = Array.from(routes).some(({ name }) => !name.startsWith('_'))
  const rows = log.routes.map(({ position, name, path, text, reason }): MissedRoute => {
    const isNear = reason !== 'path'
    const level = isNear ? 'warning' : 'plain'
    const label = isNear ? 'Almost' : ''
    // The name of a route may be masked.
    const place = editor.viewRoute(name)
    return { position, name, path, text, label, level, methods: '', link: undefined, place, ...declared.get(name) }
  })
  const shown = Math.max(shownLimit, rows.findLastIndex(({ level }) => level === 'warning') + 1)
  const suggestion = suggestPath(address, log.routes[0])
  return {
    suggestion,
    allow: log.allow.join(', '),
    rows: rows.slice(0, shown),
    folded: rows.slice(shown),
    hasResults: rows.some(({ level }) => level === 'warning'),
    emptyText: hasRoutes ? 'No similar route.' : 'The application has no routes yet.',
  }
}
