import { recordDataLink, routesDataLink, routesLink } from '../links.ts'
import type { RouteReport, RoutesReport } from '../pages/gather-routes.ts'
import type { RoutesRequest } from '../pages/parse-routes-request.ts'
import { schemaVersion } from '../profile.ts'

/** How the requests of all routes went, as programs read it; `docs/reference/profile.md` describes it. */
export interface PublicRoutes extends RoutesReport {
  readonly schemaVersion: typeof schemaVersion
  /** What was asked for and not understood, as sentences. */
  readonly notes: readonly string[]
  readonly routes: readonly (RouteReport & { readonly link: string })[]
  /** Paths below the origin of the server. */
  readonly links: { readonly self: string; readonly html: string; readonly markdown: string }
}

/** Makes the public shape of the statistics of routes; each links to the data of its slowest record. */
export function routesToJson(
  { requests, routes, startedAt }: RoutesReport,
  { notes, parameters }: RoutesRequest,
): PublicRoutes {
  return {
    schemaVersion,
    startedAt,
    requests,
    notes,
    routes: routes.map(route => ({ ...route, link: recordDataLink(route.worst.token, 'json') })),
    links: {
      self: routesDataLink('json', parameters),
      html: routesLink(parameters),
      markdown: routesDataLink('md', parameters),
    },
  }
}
