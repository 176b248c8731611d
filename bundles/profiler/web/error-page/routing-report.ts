import { mask } from '../../../../lib/redact/secret-names.ts'
import type { NearRoute } from '../../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { nearestNames } from '../../../../lib/text/mistakes.ts'
import { toTarget } from '../../profile/format.ts'
import { visitLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { readRouteLog } from '../../subjects/router/data.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'

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
export interface MissedRoute {
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
export function createRouting(
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
