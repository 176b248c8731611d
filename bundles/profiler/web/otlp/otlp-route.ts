import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { currentRequest } from '../../../../kernel/argument-sources.ts'
import type { Application } from '../../../../kernel/bundle.ts'
import { type Controller, defineController } from '../../../../kernel/controller.ts'
import { decodeUtf8 } from '../../../../lib/body/body-source.ts'
import { HttpError } from '../../../../lib/errors/http-error.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { nextTurn, readClock } from '../../../../lib/own-globals.ts'
import { maskQuotedValues } from '../../../../lib/redact/mask-quoted-values.ts'
import { MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { RouteDefinition } from '../../../../lib/routing/route.ts'
import {
  isStatementAttribute,
  isValueAttribute,
  statementAttributes,
  systemAttributes,
} from '../../../../lib/sql/tokens.ts'
import { home } from '../../profile/links.ts'
import type { ReceivedSpan } from '../../profile/span-data.ts'
import { spanKinds } from '../../profile/span-rows.ts'
import type { SpanStorage } from '../../store/profile-storage.ts'
import { QueryDescriber } from '../../subjects/queries/describe-query.ts'
import { protect } from '../page.ts'
import { isProgram } from '../routes.ts'
import type { OtlpAttributes, OtlpMessage, OtlpSpan } from './otlp-message.ts'

type OtlpServices = Pick<Application, 'debugGate' | 'redactor'> & { readonly spans: SpanStorage }

/** The most bytes of a message as it is sent, and without its compression. A batch of 512 spans has some hundred kilobytes. */
const bodyLimit = 4 * 1024 * 1024
const plainLimit = 16 * 1024 * 1024

/**
 * Creates the route that takes the spans of services on this machine (OTLP/HTTP 1). Clients that the debug gate refuses,
 * and pages of other sites, get the 404 of the router.
 */
export function createOtlpRoute(services: OtlpServices): RouteDefinition<Controller> & { controller: Controller } {
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

/** Stores the spans of a message, and answers in its format. The code of the formats is loaded with the first message. */
async function receive(request: Request, { redactor, spans }: OtlpServices): Promise<Response> {
  const { contentType } = request.body
  const isJson = contentType !== protobufType
  try {
    if (isJson && contentType !== jsonType) {
      throw new HttpError(415, `Send the content type ${protobufType} or ${jsonType}.`)
    }
    const message = await decode(await readPlain(request), isJson)
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
  const { decodeJson, decodeProtobuf } = await import('./otlp-message.ts')
  if (isJson) return decodeJson(decodeUtf8(bytes))
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
  const { encodeExportResponse } = await import('./otlp-message.ts')
  return respondProtobuf(encodeExportResponse(rejected, message), 200)
}

async function respondFailed({ headers, message, status }: HttpError, isJson: boolean): Promise<Response> {
  if (isJson) return protect(Response.json({ message }, { status, headers }))
  const { encodeStatus } = await import('./otlp-message.ts')
  return respondProtobuf(encodeStatus(message), status, headers)
}

function respondProtobuf(bytes: Buffer, status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return protect(new Response(bytes, { status, headers: { ...headers, 'content-type': protobufType } }))
}

/**
 * Masks and shortens the spans of a message, and counts those that are rejected: they have no valid ids or times. Statements of
 * databases are stored without the values in them, and values of parameters not at all. Other work of the process goes on
 * meanwhile: a message has up to a million attributes.
 */
export async function toReceivedSpans({ omitted, resources }: OtlpMessage, redactor: Redactor) {
  const spans: ReceivedSpan[] = []
  const describer = new QueryDescriber(redactor)
  let rejected = omitted
  let begun = readClock()
  for (const resource of resources) {
    const { process, service } = describeResource(resource.attributes, redactor)
    for (const span of resource.spans) {
      if (isValid(span)) spans.push({ service, process, ...toSpan(span, redactor, describer) })
      else rejected++
      if (readClock() - begun < sliceTime) continue
      await nextTurn()
      begun = readClock()
    }
  }
  return { spans, rejected }
}

/** Milliseconds of masking without a pause. */
const sliceTime = 10

const traceIdPattern = /^(?!0{32}$)[0-9a-f]{32}$/
const spanIdPattern = /^(?!0{16}$)[0-9a-f]{16}$/

/** A span from after the year 2255 would have an end that is no exact number. */
function isValid({ end, parentId, spanId, start, traceId }: OtlpSpan): boolean {
  const hasIds = traceIdPattern.test(traceId) && spanIdPattern.test(spanId)
  const hasParent = parentId === '' || spanIdPattern.test(parentId)
  return hasIds && hasParent && Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 < start && start <= end
}

const nameLength = 255

/** The resource attributes that differ between the processes of a service. */
const processNames: readonly string[] = ['service.instance.id', 'host.name', 'process.pid']

function describeResource(attributes: OtlpAttributes, redactor: Redactor) {
  const find = (wanted: string) => attributes.find(([name]) => name === wanted)?.[1]
  const mask = (value: unknown) => maskAndCut(String(value ?? ''), nameLength, redactor)
  return { service: mask(find('service.name')), process: processNames.map(name => mask(find(name))).join(' ') }
}

/** The bounds of the stored attributes of a span. A decoded value has four levels at most, and a list 128 items. */
const copyBounds = { depth: 5, entries: 512, text: 1000, total: 8192 } as const

function toSpan(
  span: OtlpSpan,
  redactor: Redactor,
  describer: QueryDescriber,
): Omit<ReceivedSpan, 'service' | 'process'> {
  const copier = new MaskingCopier(redactor, copyBounds)
  const shape = findShape(span.attributes, describer)
  const { end, hasFailed, kind, parentId, spanId, start, traceId } = span
  const message = hasFailed ? copier.text(span.message) : ''
  return {
    traceId,
    spanId,
    ...(parentId !== '' && { parentId }),
    name: maskAndCut(span.name, nameLength, redactor),
    // In the protocol, 0 is "unspecified" and 1 is "internal".
    kind: spanKinds[kind - 1] ?? 'internal',
    start,
    end,
    ...(hasFailed && { error: shape === undefined ? message : maskQuotedValues(message, shape) }),
    attributes: copier.pairs(withoutValues(span.attributes, shape)),
  }
}

/** The statement of a span without its values, or the command with its key; `undefined` if the span is no query. */
function findShape(attributes: OtlpAttributes, describer: QueryDescriber): string | undefined {
  const find = (names: readonly string[]) => attributes.find(([name]) => names.includes(name))?.[1]
  const text = find(statementAttributes)
  const system = String(find(systemAttributes) ?? '')
  return typeof text === 'string' ? describer.describe({ system, text, source: 'span' }).text : undefined
}

/** Replaces the statement by its shape, and removes the values that were inserted into it. */
function withoutValues(attributes: OtlpAttributes, shape: string | undefined): OtlpAttributes {
  return attributes.flatMap(([name, value]): OtlpAttributes => {
    if (isValueAttribute(name)) return []
    return [[name, isStatementAttribute(name) ? (shape ?? '…') : value]]
  })
}
