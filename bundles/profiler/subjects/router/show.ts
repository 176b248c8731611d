import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { Request } from '../../../../lib/http/request.ts'
import { packageDirectory } from '../../../../lib/package.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { NearestRoutes, type NearRoute } from '../../../../lib/routing/nearest-routes.ts'
import { nearestNames } from '../../../../lib/text/mistakes.ts'
import { toList, toSpan, toValueSpan } from '../../export/markdown-text.ts'
import type { PanelProfile, PanelServices, SubjectView } from '../../panels/subject-view.ts'
import { nameHandler } from '../../profile/event-tree.ts'
import { formatCount, toRows, toTarget, toValueRow } from '../../profile/format.ts'
import { isObject } from '../../profile/json.ts'
import { shownRoutes, visitLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { type RouterDataOf, splitUrl } from './data.ts'
import { maskNearRoute } from './near-route.ts'
import { describeCachedPage, type RouteLog, readGuard, readMatchedRoute, readRouteLog } from './read.ts'

/**
 * The route that matched, and why the others did not. If no route matched, the reasons are recorded. Otherwise they are
 * computed from the present routes, which may have changed; the panel says so.
 */
export const routerView: SubjectView = {
  name: 'router',
  label: 'Routing',
  template: 'profiler/panels/router',
  hasContent: ({ profile }) => profile.collectors.router !== undefined,
  toView,

  toMarkdown({ profile }, limit) {
    const { router } = profile.collectors
    if (router === undefined) return []
    const isFound = router.outcome === 'match' || router.outcome === 'redirect'
    return [
      '## Routing',
      ...(isFound ? writeFoundRoute(router, describeCachedPage(profile), limit) : writeNearestRoutes(router, limit)),
    ]
  },

  onErrorPage: {
    toView({ profile }, app) {
      const { parameters } = { ...noMatch, ...profile.collectors.router }
      const route = readMatchedRoute(profile)
      return {
        route,
        place: app.editor.viewRoute(route),
        parameters: toRows(parameters).map(toValueRow),
        missed: viewMissed(profile, app),
      }
    },
  },
}

const shownLimit = 100

/** Routes whose paths do not match are folded beyond this number. */
const unfoldedLimit = 10

function toView({ profile }: PanelProfile, app: PanelServices) {
  const { summary } = profile
  const { router } = profile.collectors
  const { location, parameters, route } = { ...noMatch, ...(router !== undefined && 'route' in router && router) }
  const { isMadeOfPath = false, mounted, pattern } = router?.outcome === 'match' ? router : noMatch
  const declared = profile.process.router?.routes ?? []
  const known = declared.find(({ name }) => name === route)
  const request = rebuildRequest(summary)
  const log =
    router === undefined || pattern !== undefined ? noLog : (readRouteLog(profile) ?? computeLog(profile, app))
  const methods = new Map(declared.map(({ methods, name }) => [name, methods?.join(', ')]))
  const rows = toLogRows(log, router?.outcome === 'match' ? route : '').map(row => ({
    methods: methods.get(row.name) ?? '',
    link: '',
    place: app.editor.viewRoute(row.name),
    ...row,
  }))
  const unfolded = Math.max(unfoldedLimit, rows.findLastIndex(({ reason }) => reason !== 'path') + 1)
  const [nearest] = rows
  return {
    method: summary.method,
    isMissed: route === '' && router !== undefined,
    nearest: nearest ?? false,
    route,
    routePlace: app.editor.viewRoute(route),
    isMadeOfPath,
    // The name of a route of another server ends with its path.
    routePath: isMadeOfPath || (pattern !== undefined && route.endsWith(pattern)) ? '' : (known?.path ?? pattern ?? ''),
    // A route has matched, and none is known: the routes are those of another program.
    isElsewhere: pattern !== undefined || (route !== '' && log.total === 0),
    handlerLabel: nameHandler(profile),
    guards: known?.guards?.join(', ') ?? '',
    guard: readGuard(profile) ?? '',
    cache: known?.cache ?? '',
    cachedPage: describeCachedPage(profile),
    controller: summary.controller ?? '',
    controllerPlace: app.editor.viewController(summary.controller ?? ''),
    allow: log.allow.join(', '),
    location,
    pathToMatch: request?.path ?? '',
    parameters: toRows(parameters).map(toValueRow),
    mounted: mounted?.pattern ?? '',
    mountedParameters: toRows(mounted?.parameters).map(toValueRow),
    requirements: (known?.requirements ?? []).map(({ name, text }) => toValueRow({ name, value: text })),
    rows: rows.slice(0, unfolded),
    folded: rows.slice(unfolded),
    hasResults: rows.some(({ reason }) => reason !== 'path'),
    isRouted: router !== undefined,
    isRecorded: log.isRecorded,
    left: Math.max(0, log.total - rows.length),
    isRouteGone: router?.outcome === 'match' && !log.isRecorded && !rows.some(row => row.name === route && row.isTaken),
    hasConditions: !log.isRecorded && rows.some(({ reason }) => reason === 'condition'),
    isPathMasked: request?.path.includes(mask) ?? false,
  }
}

const noMatch = {
  route: '',
  location: '',
  parameters: undefined,
  guard: undefined,
  isMadeOfPath: undefined,
  mounted: undefined,
  pattern: undefined,
}

const noLog: RouteLog = { routes: [], total: 0, isRecorded: false, allow: [] }

function computeLog({ summary }: Profile, { redactor, routes }: PanelServices): RouteLog {
  const request = rebuildRequest(summary)
  if (request === undefined) return noLog
  const nearest = new NearestRoutes(shownRoutes(routes))
  const found = nearest.find(request, shownLimit).map(near => maskNearRoute(near, redactor))
  return { routes: found, total: nearest.size, isRecorded: false, allow: [] }
}

/** The recorded route wins over the computed one, because the request that its condition saw no longer exists. */
function toLogRows({ routes }: RouteLog, taken: string) {
  const isTaken = ({ name, reason }: NearRoute) => name === taken && (reason === 'match' || reason === 'condition')
  const winner = routes.find(isTaken) ?? routes.find(({ reason }) => reason === 'match')
  return routes.map(near => {
    if (near === winner) return { level: 'ok', label: 'match', isTaken: isTaken(near), ...near, text: 'Route matches!' }
    const text = near.reason === 'match' ? 'Route matches, but another route comes first' : near.text
    const isNear = near.reason !== 'path'
    const label = near.reason === 'match' ? 'later' : near.reason
    return { level: isNear ? 'warning' : 'plain', label: isNear ? label : '', isTaken: false, ...near, text }
  })
}

/**
 * Rebuilds a request from its summary: method, URL and client. It has no other headers and no body, and its URL may be
 * masked. `undefined` when the summary has no valid URL.
 */
export function rebuildRequest({
  ip,
  method,
  url,
}: Pick<ProfileSummary, 'ip' | 'method' | 'url'>): Request | undefined {
  const parts = splitUrl(url)
  if (parts === undefined) return undefined
  const { host, scheme, target } = parts
  return new Request({
    method,
    target,
    headers: host === undefined ? {} : { host },
    connection: { remoteAddress: ip, encrypted: scheme === 'https' },
  })
}

function writeFoundRoute(found: RouterDataOf<'match' | 'redirect'>, cachedPage: string, limit: number): string[] {
  const { guard, isMadeOfPath = false, mounted } = found.outcome === 'match' ? found : noMatch
  const parameters = Object.entries({
    ...(isObject(found.parameters) && found.parameters),
    ...(isObject(mounted?.parameters) && mounted.parameters),
  })
  return [
    `${isMadeOfPath ? 'Route not known, counted as' : 'Matched'} ${toSpan(found.route)}.`,
    ...(guard === undefined ? [] : [`Answered by the guard ${toSpan(guard)}.`]),
    ...(cachedPage === '' ? [] : [`Answered by the page cache: ${cachedPage}.`]),
    ...(mounted === undefined ? [] : [`In the mounted handler: ${toSpan(mounted.pattern)}.`]),
    ...(found.outcome === 'redirect' ? [`Redirected to ${toSpan(found.location)}.`] : []),
    ...(parameters.length === 0
      ? []
      : ['### Parameters', toList(parameters, limit, ([name, value]) => `${toSpan(name)}: ${toValueSpan(value)}`)]),
  ]
}

function writeNearestRoutes(
  { allow = [], nearest, total }: RouterDataOf<'not-found' | 'method-not-allowed'>,
  limit: number,
): string[] {
  return [
    `None of ${total} routes matched.`,
    ...(allow.length === 0 ? [] : [`Allowed methods: ${allow.map(toSpan).join(', ')}`]),
    ...(nearest.length === 0
      ? ['No similar route.']
      : [
          '### Nearest routes',
          toList(nearest, limit, ({ name, path, text }) => `${toSpan(path)} (${toSpan(name)}): ${toSpan(text)}`),
        ]),
  ]
}

/** The most routes that are not folded, unless more are near. */
const missedLimit = 5

/** Why no route has matched; `false` if one has. */
function viewMissed(profile: Profile, app: Pick<PanelServices, 'bundles' | 'directory' | 'editor' | 'routes'>) {
  const { editor, routes } = app
  const address = toTarget(profile.summary.url)
  const log = readRouteLog(profile)
  if (log === undefined) return false
  const declared = new Map(
    Array.from(routes, route => [route.name, { methods: route.methods.join(', '), link: visitLink(route) }]),
  )
  const rows = log.routes.map(({ position, name, path, text, reason }) => {
    const isNear = reason !== 'path'
    const level = isNear ? 'warning' : 'plain'
    const label = isNear ? 'Almost' : ''
    // The name of a route may be masked.
    const place = editor.viewRoute(name)
    return { position, name, path, text, label, level, methods: '', link: undefined, place, ...declared.get(name) }
  })
  const shown = Math.max(missedLimit, rows.findLastIndex(({ level }) => level === 'warning') + 1)
  const suggestion = suggestPath(address, log.routes[0])
  return {
    /** A path that the nearest route would match; empty if none is similar. */
    suggestion,
    total: formatCount(log.total, 'route'),
    unlisted: findUnlisted(app),
    allow: log.allow.join(', '),
    rows: rows.slice(0, shown),
    folded: rows.slice(shown),
    hasResults: rows.some(({ level }) => level === 'warning'),
  }
}

/**
 * The files of bundles that are not in the list of bundles, by the names that `make:bundle` gives
 * them: their routes do not exist. The package has bundles for some applications only.
 */
function findUnlisted({ bundles, directory, editor }: Pick<PanelServices, 'bundles' | 'directory' | 'editor'>) {
  const folder = path.join(directory, 'bundles')
  if (directory === packageDirectory || !existsSync(folder)) return []
  return readdirSync(folder)
    .filter(name => !bundles.includes(name))
    .map(name => `bundles/${name}/${name}-bundle.ts`)
    .filter(file => existsSync(path.join(directory, file)))
    .map(file => editor.viewName(file, { file: path.join(directory, file), line: 1 }))
}

/**
 * Corrects the words of a path to those of a route, if each differs by two letters at most:
 * `/produkt/3` becomes `/product/3` for `/product/:id`. Empty if the route is not that similar.
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
