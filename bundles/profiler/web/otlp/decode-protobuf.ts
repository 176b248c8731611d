import { PbfReader, PbfWriter } from 'pbf'
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

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] }
type Attribute = OtlpAttributes[number]

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
    // An empty one needs two bytes, so there may be millions.
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
  const attributes: Attribute[] = []
  readInner(reader, field => {
    if (field === 1 && attributes.length < listLimit) attributes.push(readAttribute(reader, valueDepth))
  })
  return attributes
}

function readSpan(reader: PbfReader): OtlpSpan {
  const attributes: Attribute[] = []
  const span: Mutable<OtlpSpan> = {
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

/** Nanoseconds since 1970 as microseconds. A double holds the nanoseconds to a quarter of a microsecond. */
function readTime(reader: PbfReader): number {
  return Math.round(reader.readFixed64() / 1000)
}

/** Reads a name with its value. A list below `depth` levels is cut. */
function readAttribute(reader: PbfReader, depth: number): Attribute {
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

/** Reads the items of a list; the first ones of a long one. */
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
