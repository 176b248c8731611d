import { PbfReader, PbfWriter } from 'pbf'
import { parseJson } from '../../../../lib/body/parse-json.ts'
import { isObject, type JsonObject } from '../../profile/json.ts'

/** Names and values of a resource or of a span. */
export type OtlpAttributes = readonly (readonly [name: string, value: unknown])[]

/** A span as it was sent, with the fields that are read. Its values are not checked. */
export interface OtlpSpan {
  /** Hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  /** Empty without a parent. */
  readonly parentId: string
  readonly name: string
  /** The number of the kind in the protocol. */
  readonly kind: number
  /** Microseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly hasFailed: boolean
  readonly message: string
  readonly attributes: OtlpAttributes
}

/** The spans that one process has sent. */
interface OtlpResource {
  readonly attributes: OtlpAttributes
  readonly spans: readonly OtlpSpan[]
}

/** A decoded message. */
export interface OtlpMessage {
  readonly resources: readonly OtlpResource[]
  /** How many spans were not decoded because there were too many. */
  readonly omitted: number
}

/** More spans of one message are not decoded. The SDKs send 512 at once. */
const spanLimit = 10_000

/** More attributes of one span or resource, and items of one list, are not decoded. */
const listLimit = 128

/** Levels of lists and objects in the value of an attribute. */
const valueDepth = 4

/** The number of the protocol for a status that is an error. */
const errorStatus = 2

/** The nesting limit of the JSON. Each list in the value of an attribute adds three levels. */
const depthLimit = 40

/** Decodes an `ExportTraceServiceRequest` in JSON. @throws BODY_JSON_INVALID (400) */
export function decodeJson(text: string): OtlpMessage {
  const count = { spans: 0 }
  const resources = objectsIn(toObject(parseJson(text, depthLimit)).resourceSpans)
    .map(resource => toResource(resource, count))
    .filter(({ spans }) => spans.length > 0)
  return { resources, omitted: Math.max(0, count.spans - spanLimit) }
}

function toResource(resource: JsonObject, count: { spans: number }): OtlpResource {
  const spans: OtlpSpan[] = []
  for (const scope of objectsIn(resource.scopeSpans)) {
    for (const span of objectsIn(scope.spans)) {
      count.spans++
      if (count.spans <= spanLimit) spans.push(toSpan(span))
    }
  }
  return { attributes: toAttributes(toObject(resource.resource).attributes), spans }
}

function toSpan(span: JsonObject): OtlpSpan {
  const status = toObject(span.status)
  return {
    traceId: toId(span.traceId, 16),
    spanId: toId(span.spanId, 8),
    parentId: toId(span.parentSpanId, 8),
    name: toText(span.name),
    kind: toNumber(span.kind, kindNames),
    start: toTime(span.startTimeUnixNano),
    end: toTime(span.endTimeUnixNano),
    hasFailed: toNumber(status.code, statusNames) === errorStatus,
    message: toText(status.message),
    attributes: toAttributes(span.attributes),
  }
}

const kindNames = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  name => `SPAN_KIND_${name}`,
)
const statusNames = ['UNSET', 'OK', 'ERROR'].map(name => `STATUS_CODE_${name}`)

/** An enumeration may be written as a number or as a name. */
function toNumber(value: unknown, names: readonly string[]): number {
  return typeof value === 'number' ? value : names.indexOf(toText(value))
}

/** OTLP writes ids as hexadecimal digits. Libraries that follow the rules of Protocol Buffers write them as base64. */
function toId(value: unknown, bytes: number): string {
  const text = toText(value)
  if (text.length === 2 * bytes) return text.toLowerCase()
  const decoded = Buffer.from(text, 'base64')
  return text === '' || decoded.length === bytes ? decoded.toString('hex') : text
}

/** Converts nanoseconds since 1970, which are a text or a number, to microseconds. */
function toTime(value: unknown): number {
  return typeof value === 'string' ? Number(value.slice(0, -3)) : Math.round(Number(value) / 1000)
}

function toAttributes(value: unknown, depth: number = valueDepth): OtlpAttributes {
  return objectsIn(value)
    .slice(0, listLimit)
    .map(({ key, value }) => [toText(key), toValue(toObject(value), depth)])
}

function toValue(value: JsonObject, depth: number): unknown {
  const { arrayValue, boolValue, bytesValue, doubleValue, intValue, kvlistValue, stringValue } = value
  if (stringValue !== undefined) return toText(stringValue)
  if (boolValue !== undefined) return boolValue === true
  if (intValue !== undefined) return Number(intValue)
  if (doubleValue !== undefined) return Number(doubleValue)
  if (bytesValue !== undefined) return `bytes, ${Buffer.from(toText(bytesValue), 'base64').length}`
  if (kvlistValue === undefined && arrayValue === undefined) return null
  if (depth === 0) return '…'
  if (kvlistValue !== undefined) return Object.fromEntries(toAttributes(toObject(kvlistValue).values, depth - 1))
  const items = objectsIn(toObject(arrayValue).values).slice(0, listLimit)
  return items.map(item => toValue(item, depth - 1))
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/**
 * Decodes an `ExportTraceServiceRequest` of opentelemetry-proto 1. Fields that are not needed are skipped.
 *
 * @throws RangeError and Error of the reader if the bytes are no such message
 */
export function decodeProtobuf(bytes: Uint8Array): OtlpMessage {
  const reader = new PbfReader(bytes)
  const resources: OtlpResource[] = []
  const count = { spans: 0 }
  readMessage(reader, reader.length, field => {
    if (field !== 1) return
    const resource = readResourceSpans(reader, count)
    // An empty resource needs two bytes, so there may be millions.
    if (resource.spans.length > 0) resources.push(resource)
  })
  return { resources, omitted: Math.max(0, count.spans - spanLimit) }
}

/** Calls a function with the number of each field until the end of a message. The fields that it does not read are skipped. */
function readMessage(reader: PbfReader, end: number, onField: (field: number) => void): void {
  if (end > reader.length) throw new RangeError('A message is longer than its container.')
  for (let field = reader.nextField(end); field !== 0; field = reader.nextField(end)) onField(field)
  if (reader.pos !== end) throw new RangeError('A field is longer than its message.')
}

/** Reads a message within a message. */
function readInner(reader: PbfReader, onField: (field: number) => void): void {
  const length = reader.readVarint()
  readMessage(reader, reader.pos + length, onField)
}

function readResourceSpans(reader: PbfReader, count: { spans: number }): OtlpResource {
  let attributes: OtlpAttributes = []
  const spans: OtlpSpan[] = []
  readInner(reader, field => {
    if (field === 1) attributes = readResource(reader)
    else if (field === 2) {
      readInner(reader, field => {
        if (field !== 2) return
        count.spans++
        if (count.spans <= spanLimit) spans.push(readSpan(reader))
      })
    }
  })
  return { attributes, spans }
}

function readResource(reader: PbfReader): OtlpAttributes {
  const attributes: OtlpAttributes[number][] = []
  readInner(reader, field => {
    if (field === 1 && attributes.length < listLimit) attributes.push(readAttribute(reader, valueDepth))
  })
  return attributes
}

function readSpan(reader: PbfReader): OtlpSpan {
  const attributes: OtlpAttributes[number][] = []
  const span = {
    traceId: '',
    spanId: '',
    parentId: '',
    name: '',
    kind: 0,
    start: 0,
    end: 0,
    hasFailed: false,
    message: '',
    attributes,
  }
  readInner(reader, field => {
    if (field === 1) span.traceId = readId(reader)
    else if (field === 2) span.spanId = readId(reader)
    else if (field === 4) span.parentId = readId(reader)
    else if (field === 5) span.name = reader.readString()
    else if (field === 6) span.kind = reader.readVarint()
    else if (field === 7) span.start = readTime(reader)
    else if (field === 8) span.end = readTime(reader)
    else if (field === 9 && attributes.length < listLimit) attributes.push(readAttribute(reader, valueDepth))
    else if (field === 15) Object.assign(span, readStatus(reader))
  })
  return span
}

function readStatus(reader: PbfReader): Pick<OtlpSpan, 'hasFailed' | 'message'> {
  let [message, hasFailed] = ['', false]
  readInner(reader, field => {
    if (field === 2) message = reader.readString()
    else if (field === 3) hasFailed = reader.readVarint() === errorStatus
  })
  return { message, hasFailed }
}

function readId(reader: PbfReader): string {
  return Buffer.from(reader.readBytes()).toString('hex')
}

/** Reads nanoseconds since 1970 as microseconds. A double is exact to a quarter of a microsecond. */
function readTime(reader: PbfReader): number {
  return Math.round(reader.readFixed64() / 1000)
}

/** Reads a name with its value. A list below `depth` levels is cut. */
function readAttribute(reader: PbfReader, depth: number): OtlpAttributes[number] {
  let name = ''
  let value: unknown = null
  readInner(reader, field => {
    if (field === 1) name = reader.readString()
    else if (field === 2) value = readValue(reader, depth)
  })
  return [name, value]
}

function readValue(reader: PbfReader, depth: number): unknown {
  let value: unknown = null
  readInner(reader, field => {
    if (field === 1) value = reader.readString()
    else if (field === 2) value = reader.readBoolean()
    else if (field === 3) value = reader.readVarint(true)
    else if (field === 4) value = reader.readDouble()
    else if (field === 7) value = `bytes, ${reader.readBytes().length}`
    else if (depth === 0) value = '…'
    else if (field === 5) value = readItems(reader, () => readValue(reader, depth - 1))
    else if (field === 6) value = Object.fromEntries(readItems(reader, () => readAttribute(reader, depth - 1)))
  })
  return value
}

/** Reads the first items of a list. */
function readItems<item>(reader: PbfReader, readItem: () => item): item[] {
  const items: item[] = []
  readInner(reader, field => {
    if (field === 1 && items.length < listLimit) items.push(readItem())
  })
  return items
}

/** Encodes an `ExportTraceServiceResponse`: empty if all spans were accepted. */
export function encodeExportResponse(rejected: number, message: string): Buffer {
  const writer = new PbfWriter()
  if (rejected > 0) {
    writer.writeMessage(
      1,
      (_, inner) => {
        inner.writeVarintField(1, rejected)
        inner.writeStringField(2, message)
      },
      undefined,
    )
  }
  return Buffer.from(writer.finish())
}

/** Encodes a `google.rpc.Status`, which describes a failure. */
export function encodeStatus(message: string): Buffer {
  const writer = new PbfWriter()
  writer.writeStringField(2, message)
  return Buffer.from(writer.finish())
}
