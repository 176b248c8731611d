import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import type { HttpKernel } from '../../../../kernel/http-kernel.ts'
import { setContentLength } from '../../../../kernel/server/to-node.ts'
import { RequestBody } from '../../../../lib/body/request-body.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import { Request } from '../../../../lib/http/request.ts'
import { type Body, discard } from '../../../../lib/http/response.ts'
import type { Profiler } from '../../record/profiler.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import { within } from '../../store/waiting.ts'
import type { PossibleReplay } from './plan-replay.ts'

/** What a replayer works with. */
export interface ReplayerServices {
  readonly kernel: Pick<HttpKernel, 'answerError' | 'handle' | 'run' | 'terminate'>
  readonly profiler: Pick<Profiler, 'find' | 'whenWritten'>
  readonly debugGate: Pick<DebugGate, 'refuse'>
  /** Milliseconds after which an answer is not waited for any more; half a minute unless told else. */
  readonly patience?: number
  /** Milliseconds after which a stream is left, as by a client; 5 seconds unless told else. */
  readonly streamPatience?: number
}

/** What has become of a replay: the token of its record, or why there is none to be seen, as a sentence. */
type ReplayResult = { readonly token: string } | { readonly problem: string }

/** Makes recorded requests once more, in this process: each is a main request with a record of its own. */
export class Replayer {
  readonly #services: ReplayerServices

  constructor(services: ReplayerServices) {
    this.#services = services
  }

  /** Makes a request once more, and waits for its record. @throws HTTP_HEADER_INVALID before anything is sent */
  async replay(plan: PossibleReplay, input?: ReplayInput): Promise<ReplayResult> {
    const { debugGate, patience = 30_000, profiler } = this.#services
    const request = createReplayRequest(plan, input)
    // Headers of proxies are left out, and there is no connection: the gate would let it in.
    if (!plan.isDebugAllowed) debugGate.refuse(request)
    const isOver = await within(patience, this.#exchange(request))
    const token = profiler.find(request)?.token
    if (!isOver) return { problem: 'There was no response in time. The profile appears when the request is complete.' }
    if (token === undefined) return { problem: 'The replay has a response, but no profile.' }
    await profiler.whenWritten(token)
    return { token }
  }

  /** As a server does, with a client that wants nothing of it. Never rejects. */
  async #exchange(request: Request): Promise<true> {
    const { kernel, streamPatience = 5_000 } = this.#services
    let response = await kernel.handle(request)
    const signal = AbortSignal.timeout(streamPatience)
    const read = () => (request.method === 'HEAD' ? whole : readToEnd(response.body, signal))
    let reading = await kernel.run(request, read)
    if (reading.error !== undefined && !reading.hasBegun) {
      response = await kernel.answerError(request, reading.error)
      reading = await kernel.run(request, read)
    }
    setContentLength(response)
    discard(response.body)
    await kernel.terminate(request, response, reading.isWhole, reading.error)
    return true
  }
}

/** How far a body was read, and what its stream failed with. */
interface Reading {
  readonly isWhole: boolean
  readonly hasBegun: boolean
  readonly error?: unknown
}

const whole: Reading = { isWhole: true, hasBegun: true }

/** Reads a stream, if it is one. */
async function readToEnd(body: Body, signal: AbortSignal): Promise<Reading> {
  if (!(body instanceof Readable)) return whole
  try {
    await finished(body.resume(), { signal, writable: false })
    return whole
  } catch (error) {
    return { isWhole: false, hasBegun: body.readableDidRead, ...(!signal.aborted && { error }) }
  }
}

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
