import { parseJson } from '../../../../lib/body/parse-json.ts'
import { isObject, type JsonObject } from '../../profile/schema.ts'
import {
  errorStatus,
  listLimit,
  type OtlpAttributes,
  type OtlpMessage,
  type OtlpResource,
  type OtlpSpan,
  spanLimit,
  valueDepth,
} from './otlp-spans.ts'

/** Levels of a message: a value may be a list in a list, and each has three levels. */
const depthLimit = 40

/** Decodes an `ExportTraceServiceRequest` in JSON. @throws BODY_JSON_INVALID (400) */
export function decodeJson(text: string): OtlpMessage {
  const count = { spans: 0 }
  const resources = objectsIn(toObject(parseJson(text, depthLimit)).resourceSpans)
    .map(resource => readResource(resource, count))
    .filter(({ spans }) => spans.length > 0)
  return { resources, omitted: Math.max(0, count.spans - spanLimit) }
}

function readResource(resource: JsonObject, count: { spans: number }): OtlpResource {
  const spans: OtlpSpan[] = []
  for (const scope of objectsIn(resource.scopeSpans)) {
    for (const span of objectsIn(scope.spans)) {
      count.spans++
      if (count.spans <= spanLimit) spans.push(readSpan(span))
    }
  }
  return { attributes: readAttributes(toObject(resource.resource).attributes), spans }
}

function readSpan(span: JsonObject): OtlpSpan {
  const status = toObject(span.status)
  return {
    traceId: readId(span.traceId, 16),
    spanId: readId(span.spanId, 8),
    parentId: readId(span.parentSpanId, 8),
    name: toText(span.name),
    kind: toNumber(span.kind, kindNames),
    start: readTime(span.startTimeUnixNano),
    end: readTime(span.endTimeUnixNano),
    hasFailed: toNumber(status.code, statusNames) === errorStatus,
    message: toText(status.message),
    attributes: readAttributes(span.attributes),
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
function readId(value: unknown, bytes: number): string {
  const text = toText(value)
  if (text.length === 2 * bytes) return text.toLowerCase()
  const decoded = Buffer.from(text, 'base64')
  return text === '' || decoded.length === bytes ? decoded.toString('hex') : text
}

/** Nanoseconds since 1970, as a text or as a number, as microseconds. */
function readTime(value: unknown): number {
  return typeof value === 'string' ? Number(value.slice(0, -3)) : Math.round(Number(value) / 1000)
}

function readAttributes(value: unknown, depth: number = valueDepth): OtlpAttributes {
  return objectsIn(value)
    .slice(0, listLimit)
    .map(({ key, value }) => [toText(key), readValue(toObject(value), depth)])
}

function readValue(value: JsonObject, depth: number): unknown {
  const { arrayValue, boolValue, bytesValue, doubleValue, intValue, kvlistValue, stringValue } = value
  if (stringValue !== undefined) return toText(stringValue)
  if (boolValue !== undefined) return boolValue === true
  if (intValue !== undefined) return Number(intValue)
  if (doubleValue !== undefined) return Number(doubleValue)
  if (bytesValue !== undefined) return `bytes, ${Buffer.from(toText(bytesValue), 'base64').length}`
  if (kvlistValue === undefined && arrayValue === undefined) return null
  if (depth === 0) return '…'
  if (kvlistValue !== undefined) return Object.fromEntries(readAttributes(toObject(kvlistValue).values, depth - 1))
  const items = objectsIn(toObject(arrayValue).values).slice(0, listLimit)
  return items.map(item => readValue(item, depth - 1))
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
