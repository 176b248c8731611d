import { Request } from '../../../../lib/http/request.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { NearestRoutes, type NearRoute } from '../../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { toRows, toValueRow } from '../../profile/format-value.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { asObject, asObjects, asText, asTexts } from '../../profile/read-soft.ts'
import { maskNearRoute, type RouteLog, readRouteLog, shownRoutes, splitUrl } from '../../profile/routes.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

/** What the panel works with. */
export interface RouterPanelServices {
  readonly routes: Iterable<Route>
  readonly redactor: Redactor
}

/**
 * Creates the panel that shows which route was found, and why no other was. Where none was found, that was recorded;
 * else it is computed, and says so: the routes may be others by now.
 */
export function createRouterPanel(services: RouterPanelServices): ProfilePanel {
  return {
    name: 'router',
    label: 'Routing',
    template: 'profiler/panels/router',
    hasContent: ({ data }) => data.router !== undefined,
    toView: subject => toView(subject, services),
  }
}

const shownLimit = 100

/** Of the nearest, routes whose paths do not match are worth a look while they are few. */
const unfoldedLimit = 10

function toView({ facts, profile }: PanelSubject, services: RouterPanelServices) {
  const { summary } = profile
  const data = asObject(profile.data.router)
  const route = asText(data.route)
  const declared = asObjects(asObject(facts.router).routes)
  const known = declared.find(({ name }) => name === route)
  const request = rebuildRequest(summary)
  const log =
    profile.collectors.router === undefined
      ? noLog
      : (readRouteLog(profile.collectors.router) ?? computeLog(profile, services))
  const methods = new Map(declared.map(({ methods, name }) => [name, asTexts(methods).join(', ')]))
  const rows = toLogRows(log, data.outcome === 'match' ? route : '').map(row => ({
    ...row,
    methods: methods.get(row.name) ?? '',
    link: '',
  }))
  const unfolded = Math.max(unfoldedLimit, rows.findLastIndex(({ reason }) => reason !== 'path') + 1)
  const [nearest] = rows
  return {
    method: summary.method,
    isMissed: route === '' && profile.data.router !== undefined,
    nearest: nearest ?? false,
    route,
    routePath: asText(known?.path),
    controller: summary.controller ?? '',
    allow: asTexts(data.allow).join(', '),
    location: asText(data.location),
    pathToMatch: request?.path ?? '',
    parameters: toRows(data.parameters).map(toValueRow),
    requirements: asObjects(known?.requirements).map(({ name, text }) =>
      toValueRow({ name: asText(name), value: asText(text) }),
    ),
    rows: rows.slice(0, unfolded),
    folded: rows.slice(unfolded),
    isRouted: profile.data.router !== undefined,
    isRecorded: log.isRecorded,
    left: Math.max(0, log.total - rows.length),
    isRouteGone: data.outcome === 'match' && !log.isRecorded && !rows.some(row => row.name === route && row.isTaken),
    hasConditions: !log.isRecorded && rows.some(({ reason }) => reason === 'condition'),
    isPathMasked: request?.path.includes(mask) ?? false,
  }
}

const noLog: RouteLog = { routes: [], total: 0, isRecorded: false, allow: [] }

function computeLog({ summary }: Profile, { redactor, routes }: RouterPanelServices): RouteLog {
  const request = rebuildRequest(summary)
  if (request === undefined) return noLog
  const nearest = new NearestRoutes(shownRoutes(routes))
  const found = nearest.find(request, shownLimit).map(near => maskNearRoute(near, redactor))
  return { routes: found, total: nearest.size, isRecorded: false, allow: [] }
}

/** The route that was taken is known better than it could be computed: what its condition has seen is not there any more. */
function toLogRows({ routes }: RouteLog, taken: string) {
  const isTaken = ({ name, reason }: NearRoute) => name === taken && (reason === 'match' || reason === 'condition')
  const winner = routes.find(isTaken) ?? routes.find(({ reason }) => reason === 'match')
  return routes.map(near => {
    if (near === winner) return { ...near, text: 'Route matches!', level: 'ok', label: 'match', isTaken: isTaken(near) }
    const text = near.reason === 'match' ? 'Route matches, but another route comes first' : near.text
    const isNear = near.reason !== 'path'
    const label = near.reason === 'match' ? 'later' : near.reason
    return { ...near, text, level: isNear ? 'warning' : 'plain', label: isNear ? label : '', isTaken: false }
  })
}

/**
 * Makes a request again of what a summary says of it: method, URL and client. It has neither the other headers nor the
 * body, and of the URL what was not masked; `undefined` when what was recorded is no URL.
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
