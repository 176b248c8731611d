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

/** The services of a {@link Replayer}. */
export interface ReplayerServices {
  readonly kernel: Pick<HttpKernel, 'answerError' | 'handle' | 'run' | 'terminate'>
  readonly profiler: Pick<Profiler, 'find' | 'whenWritten'>
  readonly debugGate: Pick<DebugGate, 'refuse'>
  /** The time limit for the response, in milliseconds; 30 seconds by default. */
  readonly patience?: number
  /** The time limit for reading a stream, in milliseconds; 5 seconds by default. */
  readonly streamPatience?: number
}

/** The result of a replay: the token of its profile, or a sentence why there is no profile. */
type ReplayResult = { readonly token: string } | { readonly problem: string }

/** Replays recorded requests in this process. Each replay is a main request with its own profile. */
export class Replayer {
  readonly #services: ReplayerServices

  constructor(services: ReplayerServices) {
    this.#services = services
  }

  /**
   * Replays a request, and waits until its profile is stored. @throws HTTP_HEADER_INVALID before the request is sent
   */
  async replay(plan: PossibleReplay, input?: ReplayInput): Promise<ReplayResult> {
    const { debugGate, patience = 30_000, profiler } = this.#services
    const request = createReplayRequest(plan, input)
    // Without proxy headers the request looks like a local one, which the debug gate allows.
    if (!plan.isDebugAllowed) debugGate.refuse(request)
    const isOver = await within(patience, this.#exchange(request))
    const token = profiler.find(request)?.token
    if (!isOver) return { problem: 'There was no response in time. The profile appears when the request is complete.' }
    if (token === undefined) return { problem: 'The replay has a response, but no profile.' }
    await profiler.whenWritten(token)
    return { token }
  }

  /** Handles the request as a server does, and discards the response. Never rejects. */
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

/** How far a body was read, and the error of its stream. */
interface Reading {
  readonly isWhole: boolean
  readonly hasBegun: boolean
  readonly error?: unknown
}

const whole: Reading = { isWhole: true, hasBegun: true }

/** Reads a streamed body to its end; other bodies are already whole. */
async function readToEnd(body: Body, signal: AbortSignal): Promise<Reading> {
  if (!(body instanceof Readable)) return whole
  try {
    await finished(body.resume(), { signal, writable: false })
    return whole
  } catch (error) {
    return { isWhole: false, hasBegun: body.readableDidRead, ...(!signal.aborted && { error }) }
  }
}

/** Values that a user supplies for a replay, because they are not stored. By default the planned values are used. */
export interface ReplayInput {
  /** Values of headers by lower-case name. */
  readonly headers?: ReadonlyMap<string, string>
  readonly target?: string
  readonly body?: string | Uint8Array
}

/** Creates the request of a replay, with the attribute that marks a replay. @throws HTTP_HEADER_INVALID */
export function createReplayRequest(plan: PossibleReplay, input: ReplayInput = {}): Request {
  const { httpVersion, ip, method, scheme, token } = plan
  const headers = new Headers(plan.headers)
  for (const [name, value] of input.headers ?? []) headers.set(name, value)
  const bytes = Buffer.from(input.body ?? plan.body.content)
  if (bytes.length === 0) headers.delete('transfer-encoding')
  // A chunked body has no content-length (RFC 9112, section 6.2).
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
