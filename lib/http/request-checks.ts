import type { HttpError } from '../errors/http-error.ts'
import {
  HTTP_HEADERS_TOO_MANY,
  HTTP_METHOD_REFUSED,
  HTTP_METHOD_UNKNOWN,
  HTTP_TRANSFER_CODING_UNSUPPORTED,
  HTTP_VERSION_UNSUPPORTED,
} from './errors.ts'
import type { Request } from './request.ts'
import { knownMethods, refusedMethods } from './request-line.ts'

/** Something that must hold before anyone believes what a request says. */
export interface RequestCheck {
  readonly name: string
  readonly source: string
  /** What is wrong; `undefined` when nothing is. */
  readonly find: (request: Request) => HttpError | undefined
}

/** Beyond 1000, node drops fields without a word: nobody may come near. */
const headerLimit = 200

const known: ReadonlySet<string> = new Set(knownMethods)
const refused: ReadonlySet<string> = new Set(refusedMethods)

/** What is checked of every request, in this order; node has refused by then what is no HTTP at all. */
export const requestChecks: readonly RequestCheck[] = [
  { name: 'version', source: 'RFC 9112, section 2.3', find: checkVersion },
  { name: 'transfer coding', source: 'RFC 9112, section 6.1', find: checkTransferCoding },
  { name: 'number of header fields', source: 'RFC 6585, section 5', find: checkHeaders },
  { name: 'target, Host, forwarding', source: 'RFC 9112, section 3.2; RFC 7239', find: ({ problem }) => problem },
  { name: 'method', source: 'RFC 9110, section 9.1', find: checkMethod },
]

/** Gives the first thing that is wrong with a request; `undefined` when nothing is. */
export function findProblem(request: Request): HttpError | undefined {
  for (const { find } of requestChecks) {
    const problem = find(request)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Node reads 0.9 and 2.0 as well, and asks only 1.1 for a Host. */
function checkVersion({ httpVersion }: Request): HttpError | undefined {
  if (httpVersion === '1.1' || httpVersion === '1.0') return undefined
  return new HTTP_VERSION_UNSUPPORTED([httpVersion])
}

/** Node takes every list that ends in `chunked`, and an empty one; the body stays in codings that are not undone here. */
function checkTransferCoding(request: Request): HttpError | undefined {
  if (!hasUnclearLength(request)) return undefined
  return new HTTP_TRANSFER_CODING_UNSUPPORTED([String(request.headers.get('transfer-encoding'))])
}

/**
 * Whether another server may see the end of a request elsewhere: its transfer coding is not exactly `chunked`, or comes with
 * HTTP/1.0. Its connection is not used again (RFC 9112, section 6.1); node itself refuses two lengths.
 */
export function hasUnclearLength({ headers, httpVersion }: Request): boolean {
  const coding = headers.get('transfer-encoding')
  return coding !== null && (coding.toLowerCase() !== 'chunked' || httpVersion !== '1.1')
}

function checkHeaders({ headers }: Request): HttpError | undefined {
  return headers.size > headerLimit ? new HTTP_HEADERS_TOO_MANY([headers.size, headerLimit]) : undefined
}

function checkMethod({ method }: Request): HttpError | undefined {
  if (known.has(method)) return undefined
  const allow = knownMethods.join(', ')
  if (refused.has(method)) return new HTTP_METHOD_REFUSED([method], { headers: { allow } })
  return new HTTP_METHOD_UNKNOWN([method, allow])
}
