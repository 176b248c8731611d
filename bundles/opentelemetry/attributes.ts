import type { Attributes } from '@opentelemetry/api'
import { flattenError } from '../../lib/errors/flat-error.ts'
import { HttpError, isClientError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { knownMethods } from '../../lib/http/request-target.ts'
import { cut, maskAndCut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { formatFrame } from '../../lib/stack/stack-frames.ts'

/** The most characters of a text in an attribute. */
const textLimit = 2048

/** The name of a span of a request: its method, and its route when it is known. */
export function nameSpan({ method }: Pick<Request, 'method'>, route?: string): string {
  const name = isKnown(method) ? method : 'HTTP'
  return route === undefined ? name : `${name} ${route}`
}

/** The attributes of a request by OpenTelemetry's conventions for HTTP servers, masked. */
export function describeRequest(request: Request, redactor: Redactor): Attributes {
  const { clientIp, headers, hostname, httpVersion, method, port, scheme } = request
  const { path, query } = maskTarget(request, redactor)
  const agent = headers.get('user-agent')
  return {
    ...(isKnown(method)
      ? { 'http.request.method': method }
      : { 'http.request.method': '_OTHER', 'http.request.method_original': cut(method, 64) }),
    'url.scheme': scheme,
    'url.path': path,
    ...(query !== '' && { 'url.query': query }),
    ...(hostname !== '' && { 'server.address': hostname, 'server.port': port }),
    ...(clientIp !== 'unknown' && { 'client.address': clientIp }),
    ...(agent !== null && { 'user_agent.original': maskAndCut(agent, textLimit, redactor) }),
    'network.protocol.version': httpVersion,
  }
}

function isKnown(method: string): boolean {
  return (knownMethods as readonly string[]).includes(method)
}

/** Masked as a whole URL: in a path alone, a secret at its beginning is not recognised. */
function maskTarget({ origin, url }: Request, redactor: Redactor): { path: string; query: string } {
  const masked = redactor.text(url)
  const [path = '', ...query] = masked.slice(masked.startsWith(origin) ? origin.length : 0).split('?')
  return { path: cut(path, textLimit), query: cut(query.join('?'), textLimit) }
}

const frameLimit = 30
const nameLimit = 128

/** The attributes of an exception, masked; `undefined` for a client's mistake. */
export function describeException(error: unknown, redactor: Redactor): Attributes | undefined {
  if (error instanceof HttpError && isClientError(error.status)) return undefined
  const { frames, message, name } = flattenError(error, { mask: text => maskAndCut(text, textLimit, redactor) })
  const stack = frames.slice(0, frameLimit).map(frame => redactor.text(formatFrame(frame)))
  return {
    'exception.type': maskAndCut(name, nameLimit, redactor),
    'exception.message': message,
    ...(stack.length > 0 && { 'exception.stacktrace': stack.join('\n') }),
  }
}

/** The class of an error: its code, such as `ECONNREFUSED`, or its name. */
export function errorType(error: unknown): string {
  const { code, name } = flattenError(error, { hasFrames: false })
  return cut(typeof code === 'string' ? code : name, nameLimit)
}
