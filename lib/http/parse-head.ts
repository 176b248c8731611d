import { HttpError } from '../errors/http-error.ts'
import type { Headers } from './headers.ts'
import { type Host, readHost } from './host.ts'
import { parseTarget, type Target } from './request-line.ts'
import { type Forwarded, nothingForwarded, type TrustedProxies } from './trusted-proxies.ts'

/** What is read from the request line and the headers. */
export interface ParsedHead {
  readonly target: Target
  readonly forwarded: Forwarded
  readonly host: Host | undefined
  readonly problem: HttpError | undefined
}

/** The parts of a request that are parsed. */
export interface Head {
  readonly headers: Headers
  readonly method: string
  readonly peerAddress: string
  readonly target: string
}

/** Parses a request. The first error is kept for later. A sub-request has the host of its parent if its own has none. */
export function parseHead(head: Head, trustedProxies: TrustedProxies, parent: ParsedHead | undefined): ParsedHead {
  const { headers, method, peerAddress, target: sent } = head
  let target: Target
  let forwarded = nothingForwarded
  let host = parent?.host
  let problem: HttpError | undefined
  try {
    target = parseTarget(sent, method)
  } catch (error) {
    problem = asProblem(error)
    target = { rawPath: sent, path: sent, queryString: '' }
  }
  try {
    forwarded = trustedProxies.read(headers, peerAddress)
  } catch (error) {
    problem ??= asProblem(error)
  }
  try {
    host = readHost(headers, forwarded.host, target.authority) ?? host
  } catch (error) {
    problem ??= asProblem(error)
  }
  return { target, forwarded, host, problem }
}

/** An error that refuses a request. Any other error is thrown. */
function asProblem(error: unknown): HttpError {
  if (!(error instanceof HttpError)) throw error
  return error
}
