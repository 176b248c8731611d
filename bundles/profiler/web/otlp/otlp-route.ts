import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { currentRequest } from '../../../../kernel/argument-sources.ts'
import { type Controller, defineController } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import { decodeUtf8 } from '../../../../lib/body/body-source.ts'
import { HttpError } from '../../../../lib/errors/http-error.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { RouteDefinition } from '../../../../lib/routing/route.ts'
import { home } from '../../profile/links.ts'
import type { SpanStorage } from '../../store/profile-storage.ts'
import { isProgram } from '../access.ts'
import { protect } from '../respond.ts'
import type { OtlpMessage } from './otlp-spans.ts'

/** The parts that the route works with. */
interface OtlpRouteServices {
  readonly debugGate: DebugGate
  readonly redactor: Redactor
  readonly spans: SpanStorage
}

/** Bytes of a message as it is sent, and without its compression. A batch of 512 spans has some hundred kilobytes. */
const bodyLimit = 4 * 1024 * 1024
const plainLimit = 16 * 1024 * 1024

/**
 * Creates the route that takes the spans of services on this machine (OTLP/HTTP 1). Clients that the debug gate refuses,
 * and pages of other sites, get the 404 of the router.
 */
export function createOtlpRoute(services: OtlpRouteServices): RouteDefinition<Controller> & { controller: Controller } {
  return {
    name: '_profiler_otlp',
    path: `${home}otlp/v1/traces`,
    methods: ['POST'],
    defaults: { _body_limit: bodyLimit, _body_unread: true, _log: false },
    condition: request => isProgram(request) && services.debugGate.allows(request),
    controller: defineController('profiler_otlp', [currentRequest], (request: Request) => receive(request, services)),
  }
}

const protobufType = 'application/x-protobuf'
const jsonType = 'application/json'

/** Answers in the format of the message. The formats are loaded with the first message. */
async function receive(request: Request, { redactor, spans }: OtlpRouteServices): Promise<Response> {
  const { contentType } = request.body
  const isJson = contentType !== protobufType
  try {
    if (isJson && contentType !== jsonType) {
      throw new HttpError(415, `Send the content type ${protobufType} or ${jsonType}.`)
    }
    const message = await decode(await readPlain(request), isJson)
    const { toReceivedSpans } = await import('./otlp-spans.ts')
    const received = await toReceivedSpans(message, redactor)
    const isStored = received.spans.length === 0 || (await spans.append(received.spans))
    const rejected = received.rejected + (isStored ? 0 : received.spans.length)
    return await respondAccepted(rejected, isStored ? invalidSpans : 'The spans cannot be stored.', isJson)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return await respondFailed(error, isJson)
  }
}

const invalidSpans = 'Spans are dropped that have no valid ids or times, or that are over the limit of a message.'

/** The body without its compression. @throws HttpError of the body, 400 and 413 for its compression, 415 */
async function readPlain({ body, headers }: Request): Promise<Uint8Array> {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'gzip') return body.bytes()
  try {
    return await promisify(gunzip)(await body.encodedBytes(), { maxOutputLength: plainLimit })
  } catch (error) {
    if (error instanceof HttpError) throw error
    const isTooLarge = error instanceof RangeError
    throw isTooLarge
      ? new HttpError(413, `The message is larger than the limit of ${plainLimit} bytes without its compression.`)
      : new HttpError(400, 'The message is not valid gzip.', { cause: error })
  }
}

/** @throws HttpError 400 */
async function decode(bytes: Uint8Array, isJson: boolean): Promise<OtlpMessage> {
  if (isJson) {
    const { decodeJson } = await import('./decode-json.ts')
    return decodeJson(decodeUtf8(bytes))
  }
  const { decodeProtobuf } = await import('./decode-protobuf.ts')
  try {
    return decodeProtobuf(bytes)
  } catch (error) {
    throw new HttpError(400, 'The message is not a valid ExportTraceServiceRequest.', { cause: error })
  }
}

/** With a partial success the sender knows that it must not send the rejected spans again. */
async function respondAccepted(rejected: number, message: string, isJson: boolean): Promise<Response> {
  if (isJson) {
    const partial = { rejectedSpans: String(rejected), errorMessage: message }
    return protect(Response.json(rejected === 0 ? {} : { partialSuccess: partial }))
  }
  const { encodeExportResponse } = await import('./decode-protobuf.ts')
  return respondProtobuf(encodeExportResponse(rejected, message), 200)
}

async function respondFailed({ headers, message, status }: HttpError, isJson: boolean): Promise<Response> {
  if (isJson) return protect(Response.json({ message }, { status, headers }))
  const { encodeStatus } = await import('./decode-protobuf.ts')
  return respondProtobuf(encodeStatus(message), status, headers)
}

function respondProtobuf(bytes: Buffer, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return protect(new Response(bytes, { status, headers: { ...headers, 'content-type': protobufType } }))
}
