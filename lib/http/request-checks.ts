import type { HttpError } from '../errors/http-error.ts'
import {
  HTTP_HEADERS_TOO_MANY,
  HTTP_METHOD_UNKNOWN,
  HTTP_TARGET_INVALID,
  HTTP_TARGET_TOO_LONG,
  HTTP_TRANSFER_CODING_UNSUPPORTED,
  HTTP_VERSION_UNSUPPORTED,
} from './errors.ts'
import type { Request } from './request.ts'
import { knownMethods, refusedMethods } from './request-target.ts'

/** Node silently drops fields above 1000, so the limit is far below. */
const headerLimit = 200

/** The router refuses some of them: it knows the methods of the path. */
const known: ReadonlySet<string> = new Set([...knownMethods, ...refusedMethods])

/** Returns the error of the first check that fails; `undefined` if all pass. Node has refused malformed HTTP before. */
export function findProblem(request: Request): HttpError | undefined {
  return (
    checkVersion(request) ??
    checkTransferCoding(request) ??
    checkHeaders(request) ??
    request.problem ??
    checkMethod(request)
  )
}

/** The errors about what is asked for, which come last. */
const errorsOfTarget = [HTTP_TARGET_INVALID, HTTP_TARGET_TOO_LONG, HTTP_METHOD_UNKNOWN]

/**
 * Like {@link findProblem}, without the errors that leave no doubt about the client, the proxies
 * before it and the host.
 */
export function findProblemOfClient(request: Request): HttpError | undefined {
  const problem = findProblem(request)
  return errorsOfTarget.some(type => problem instanceof type) ? undefined : problem
}

/**
 * Node also accepts 0.9 and 2.0, and demands a Host only in 1.1. Only another server receives `2`,
 * which is HTTP/2 itself.
 */
function checkVersion({ httpVersion }: Request): HttpError | undefined {
  if (['1.1', '1.0', '2'].includes(httpVersion)) return undefined
  return new HTTP_VERSION_UNSUPPORTED([httpVersion])
}

/** Node accepts every list that ends in `chunked`, and an empty one, but decodes no other coding. */
function checkTransferCoding(request: Request): HttpError | undefined {
  if (!hasUnclearLength(request)) return undefined
  return new HTTP_TRANSFER_CODING_UNSUPPORTED([request.headers.get('transfer-encoding') ?? ''])
}

/**
 * Whether another server may see the end of a request at another place: its transfer coding is not exactly `chunked`,
 * or comes with HTTP/1.0. The connection is closed then (RFC 9112, section 6.1). Node itself refuses two lengths.
 */
export function hasUnclearLength({ headers, httpVersion }: Request): boolean {
  const coding = headers.get('transfer-encoding')
  return coding !== null && (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')
}

function checkHeaders({ headers }: Request): HttpError | undefined {
  return headers.size > headerLimit ? new HTTP_HEADERS_TOO_MANY([headers.size, headerLimit]) : undefined
}

function checkMethod({ method }: Request): HttpError | undefined {
  return known.has(method) ? undefined : new HTTP_METHOD_UNKNOWN([method, knownMethods.join(', ')])
}
