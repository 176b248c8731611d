import type { Application } from '../../kernel/bundle.ts'
import type { FinishedRequest } from '../../kernel/finished-request.ts'
import type { Request } from '../../lib/http/request.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'

/** The services of the access log. */
export type AccessLogServices = Pick<Application, 'logger' | 'redactor' | 'signals'>

/** Logs a line for each finished main request, except for health checks and routes with `_log: false`. */
export function startAccessLog({ logger, redactor, signals }: AccessLogServices): void {
  signals.on('request.finished', (finished: FinishedRequest) => {
    const { bytesSent, duration, isSent, request, response, route } = finished
    if (isHealthCheck(request) || request.attributes.get('_log') === false) return
    const { clientIp, id, method } = request
    const { status } = response
    const path = maskPath(request, redactor)
    const ms = Math.round(duration * 10) / 10
    const context = { method, path, route, status, ms, bytes: bytesSent, client: clientIp }
    logger.access(`${method} ${path} ${status}`, id, isSent ? context : { ...context, isSent })
  })
}

/** The most characters of a path. */
const pathLimit = 1024

function isHealthCheck({ path }: Request): boolean {
  return path === '/_health' || path === '/_health/live'
}

/** The path without its query, which may have secrets. Masked as a URL: in a path alone, a secret at its beginning is not recognised. */
function maskPath({ origin, rawPath }: Request, redactor: Redactor): string {
  // The path of a request with a malformed target is the whole target.
  const [path = ''] = rawPath.split('?', 1)
  const masked = redactor.text(origin + path)
  return cut(masked.startsWith(origin) ? masked.slice(origin.length) : masked, pathLimit)
}
