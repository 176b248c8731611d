import { Readable } from 'node:stream'
import { RequestBody } from '../../../lib/body/request-body.ts'
import { Headers } from '../../../lib/http/headers.ts'
import { Request } from '../../../lib/http/request.ts'
import type { PossibleReplay } from './plan-replay.ts'
import { replayAttribute } from './replay-mark.ts'

/** What somebody supplies for one replay, because it was never stored; what is missing stays as it is planned. */
export interface ReplayInput {
  /** Values of headers by their names in lower case. */
  readonly headers?: ReadonlyMap<string, string>
  readonly target?: string
  readonly body?: string | Uint8Array
}

/** Makes the request of a replay, marked as such. @throws HTTP_HEADER_INVALID */
export function createReplayRequest(plan: PossibleReplay, input: ReplayInput = {}): Request {
  const { httpVersion, ip, method, scheme, token } = plan
  const headers = new Headers(plan.headers)
  for (const [name, value] of input.headers ?? []) headers.set(name, value)
  const bytes = Buffer.from(input.body ?? plan.body.content)
  if (bytes.length === 0) headers.delete('transfer-encoding')
  // A body that was sent in chunks has no length (RFC 9112, section 6.2).
  if (headers.has('content-length') || (bytes.length > 0 && !headers.has('transfer-encoding'))) {
    headers.set('content-length', String(bytes.length))
  }
  const request = new Request({
    method,
    target: input.target ?? plan.target,
    headers,
    httpVersion,
    connection: { remoteAddress: ip, encrypted: scheme === 'https' },
    ...(bytes.length > 0 && { body: readBodyOf(bytes, headers) }),
  })
  request.attributes.set(replayAttribute, token)
  return request
}

function readBodyOf(bytes: Buffer, headers: Headers): RequestBody {
  return new RequestBody({
    stream: Readable.from([bytes]),
    length: bytes.length,
    contentType: headers.get('content-type') ?? undefined,
    contentEncoding: headers.get('content-encoding') ?? undefined,
  })
}
