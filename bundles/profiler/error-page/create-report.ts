import { statusText } from '../../../lib/http/response.ts'
import type { Route } from '../../../lib/routing/route.ts'
import type { EditorLinks } from '../editor-links.ts'
import { formatMicroseconds } from '../format/format-microseconds.ts'
import { readRouteLog } from '../panels/router.ts'
import { type ExceptionsView, type FrameView, viewExceptions } from '../panels/view-exceptions.ts'
import { readExceptions } from '../reading/read-exceptions.ts'
import { readLogs, type StoredLog } from '../reading/read-logs.ts'
import { asObject, asTexts } from '../reading/read-soft.ts'
import { visitLink } from '../routing/visit-link.ts'
import type { Preview } from './create-preview.ts'
import { findWay, type Step } from './find-way.ts'

/** What is told of an error, as a page and as Markdown: all of it masked. */
export interface ErrorReport extends ExceptionsView {
  readonly status: number
  readonly statusText: string
  /** The class of the error that is answered. */
  readonly name: string
  /** Never empty. */
  readonly message: string
  readonly method: string
  readonly address: string
  /** The call to look at first; absent where no source is known. */
  readonly first: FrameView | undefined
  readonly way: readonly Step[]
  /** Only where no route was found. */
  readonly routing: RoutingReport | undefined
  readonly logs: readonly LogReport[]
  /** How many records came before those. */
  readonly earlier: number
}

/** Why no route was found. */
export interface RoutingReport {
  /** Of a 405. */
  readonly allow: string
  /** The nearest first. */
  readonly rows: readonly RouteReport[]
  /** Those that are further away. */
  readonly folded: readonly RouteReport[]
}

/** A route, and what the request lacked for it. */
export interface RouteReport {
  readonly position: number
  readonly name: string
  readonly path: string
  /** Separated by commas; empty for all. */
  readonly methods: string
  readonly text: string
  readonly label: string
  readonly level: 'plain' | 'warning'
  /** Where the route can be visited just so. */
  readonly link: string | undefined
}

/** A log record. */
export interface LogReport extends Pick<StoredLog, 'level' | 'channel' | 'message' | 'place'> {
  readonly offset: string
}

/** What the report is made with. */
export interface ReportServices {
  readonly routes: Iterable<Route>
  readonly editor: EditorLinks
}

const logLimit = 50

/** Makes the report of what is answered with a status. */
export function createReport(
  { lineage, profile, token }: Preview,
  status: number,
  services: ReportServices,
): ErrorReport {
  const answered = readExceptions(profile).findLast(({ relation }) => relation === '' || relation === 'Thrown later')
  if (answered === undefined) throw new Error(`The error was not collected: ${profile.failures.exception}`)
  const { name, message } = answered
  const view = viewExceptions(profile, services.editor)
  const frames = view.exceptions.flatMap(({ groups }) => groups).flatMap(({ frames }) => frames)
  const { logs } = readLogs(profile)
  return {
    ...view,
    status,
    statusText: statusText(status),
    name,
    message: message || name,
    method: profile.summary.method,
    address: profile.summary.url,
    first: frames.find(({ isOpen }) => isOpen),
    way: findWay(lineage, token !== ''),
    routing: createRouting(profile.data.router, services.routes),
    logs: logs.slice(-logLimit).map(log => ({ ...log, offset: `+${formatMicroseconds(log.at)}` })),
    earlier: Math.max(0, logs.length - logLimit),
  }
}

const shownLimit = 5

function createRouting(data: unknown, routes: Iterable<Route>): RoutingReport | undefined {
  const known = asObject(data)
  const log = readRouteLog(known)
  if (log === undefined) return undefined
  const declared = new Map(
    Array.from(routes, route => [route.name, { methods: route.methods.join(', '), link: visitLink(route) }]),
  )
  const rows = log.routes.map(({ position, name, path, text, reason }): RouteReport => {
    const isNear = reason !== 'path'
    const level = isNear ? 'warning' : 'plain'
    const label = isNear ? 'Almost' : ''
    // The name of a route may be masked.
    return { position, name, path, text, label, level, methods: '', link: undefined, ...declared.get(name) }
  })
  const shown = Math.max(shownLimit, rows.findLastIndex(({ level }) => level === 'warning') + 1)
  return { allow: asTexts(known.allow).join(', '), rows: rows.slice(0, shown), folded: rows.slice(shown) }
}
