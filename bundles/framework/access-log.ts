import type { Application } from '../../kernel/bundle.ts'
import type { FinishedRequest } from '../../kernel/events.ts'
import type { Request } from '../../lib/http/request.ts'
import { AccessEntry, AccessKind } from '../../lib/log/access-entry.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { isHealthPath } from './health.ts'

/**
 * Logs a line for each finished main request, except for health checks and routes with `_log: false`.
 * `onlyPages` leaves out requests that no route has answered, such as those for assets, unless they have failed.
 */
export function startAccessLog(
  { logger, redactor, signals }: Pick<Application, 'logger' | 'redactor' | 'signals'>,
  { onlyPages }: { readonly onlyPages: boolean },
): void {
  const kinds = new AccessKinds(redactor)
  signals.on('request.finished', (finished: FinishedRequest) => {
    const { bytesSent, duration, isSent, request, response, route } = finished
    if (isHealthPath(request.path) || request.attributes.get('_log') === false) return
    if (onlyPages && route === undefined && response.status < 400) return
    const kind = kinds.find(request, route, response.status)
    const ms = Math.round(duration * 10) / 10
    const entry = new AccessEntry(kind, ms, bytesSent, request.clientIp)
    logger.access(kind.message, request.id, isSent ? entry : { ...entry, isSent })
  })
}

/** The kind of the last request of each route: most routes get many equal requests. */
class AccessKinds {
  readonly #redactor: Redactor
  readonly #last = new Map<string | undefined, KnownKind>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  find(request: Request, route: string | undefined, status: number): AccessKind {
    const last = this.#last.get(route)
    // The redactor is asked each time: what it masks may change, as routes may be added.
    if (last !== undefined && isOf(last, request, status) && this.#redactor.text(last.url) === last.url)
      return last.kind
    const { hostname, method, origin, port, rawPath, scheme, target } = request
    const url = origin + withoutQuery(rawPath)
    const path = maskPath(origin, url, this.#redactor)
    const kind = new AccessKind(method, cut(path, pathLimit), route, status)
    // A path with a secret is not kept. V8 keeps the whole target in memory for a path that is a part of it.
    const isKept = path === rawPath && target.length <= targetLimit
    if (isKept) this.#last.set(route, { kind, url, hostname, port, scheme, rawPath })
    return kind
  }
}

/** A kind, and the parts of the request that decide on its path. */
interface KnownKind extends Pick<Request, 'hostname' | 'port' | 'rawPath' | 'scheme'> {
  readonly kind: AccessKind
  /** The URL without a query. The redactor leaves it as it is. */
  readonly url: string
}

function isOf({ hostname, kind, port, rawPath, scheme }: KnownKind, request: Request, status: number): boolean {
  return (
    rawPath === request.rawPath &&
    kind.status === status &&
    kind.method === request.method &&
    hostname === request.hostname &&
    port === request.port &&
    scheme === request.scheme
  )
}

/** The most characters of a path in a line, and of a target whose kind is kept. */
const pathLimit = 1024
const targetLimit = 256

/** The path of a request with a malformed target is the whole target. A query may have secrets. */
function withoutQuery(rawPath: string): string {
  const end = rawPath.indexOf('?')
  return end === -1 ? rawPath : rawPath.slice(0, end)
}

/** Masks the path of a URL. In a path alone, a secret at its beginning is not recognised. */
function maskPath(origin: string, url: string, redactor: Redactor): string {
  const masked = redactor.text(url)
  return masked.startsWith(origin) ? masked.slice(origin.length) : masked
}
