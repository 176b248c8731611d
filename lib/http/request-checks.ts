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

/** A check of a request, before any listener uses the request. */
interface RequestCheck {
  readonly name: string
  readonly source: string
  /** Returns the error; `undefined` if the check passes. */
  readonly find: (request: Request) => HttpError | undefined
}

/** Node silently drops fields above 1000, so the limit is far below. */
const headerLimit = 200

/** The router refuses some of them: it knows the methods of the path. */
const known: ReadonlySet<string> = new Set([...knownMethods, ...refusedMethods])

/** The checks of every request, in this order. Node has already refused malformed HTTP. */
export const requestChecks: readonly RequestCheck[] = [
  { name: 'version', source: 'RFC 9112, section 2.3', find: checkVersion },
  { name: 'transfer coding', source: 'RFC 9112, section 6.1', find: checkTransferCoding },
  { name: 'number of header fields', source: 'RFC 6585, section 5', find: checkHeaders },
  { name: 'target, Host, forwarding', source: 'RFC 9112, section 3.2; RFC 7239', find: ({ problem }) => problem },
  { name: 'method', source: 'RFC 9110, section 9.1', find: checkMethod },
]

/** Returns the error of the first check that fails; `undefined` if all pass. */
export function findProblem(request: Request): HttpError | undefined {
  for (const { find } of requestChecks) {
    const problem = find(request)
    if (problem !== undefined) return problem
  }
  return undefined
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
