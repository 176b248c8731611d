import assert from 'node:assert'

/** A span as a back end receives it. Ids are hexadecimal; an empty id is absent. */
export interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly traceState: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  /** Nanoseconds since 1970. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]
  /** The attributes of each link to another span. */
  readonly links: readonly Readonly<Record<string, unknown>>[]
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number
  readonly scope: string
  readonly resource: Readonly<Record<string, unknown>>
}

/**
 * Decodes an ExportTraceServiceRequest of OTLP 1 by the numbers in OpenTelemetry's .proto files.
 * It shares no code with the exporter.
 */
export function decodeTraces(bytes: Uint8Array): ExportedSpan[] {
  return messages(bytes, 1).flatMap(resourceSpans => {
    const [resource] = messages(resourceSpans, 1).map(message => attributes(messages(message, 1)))
    assert(resource, 'spans have a resource')
    return messages(resourceSpans, 2).flatMap(scopeSpans => {
      const [scope] = messages(scopeSpans, 1).map(message => text(message, 1))
      assert(scope !== undefined, 'spans have a scope')
      return messages(scopeSpans, 2).map(span => ({ ...decodeSpan(span), scope, resource }))
    })
  })
}

function decodeSpan(span: Uint8Array): Omit<ExportedSpan, 'scope' | 'resource'> {
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    traceState: text(span, 3),
    parentId: hex(span, 4),
    name: text(span, 5),
    kind: Number(number(span, 6)),
    start: number(span, 7),
    end: number(span, 8),
    attributes: attributes(messages(span, 9)),
    events: messages(span, 11).map(event => ({ name: text(event, 2), attributes: attributes(messages(event, 3)) })),
    links: messages(span, 13).map(link => attributes(messages(link, 4))),
    status: Number(messages(span, 15).reduce((_, status) => number(status, 3), 0n)),
  }
}

function attributes(pairs: readonly Uint8Array[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(pair => [text(pair, 1), messages(pair, 2).map(anyValue)[0]]))
}

function anyValue(value: Uint8Array): unknown {
  const [field] = fields(value)
  assert(field, 'an attribute has a value')
  if (field.number === 1) return Buffer.from(asBytes(field)).toString()
  if (field.number === 3) return Number(BigInt.asIntN(64, field.value as bigint))
  assert(field.number === 5, 'no other kinds of values are sent')
  return messages(asBytes(field), 1).map(anyValue)
}

interface Field {
  readonly number: number
  readonly value: bigint | Uint8Array
}

function messages(bytes: Uint8Array, wanted: number): Uint8Array[] {
  return fields(bytes)
    .filter(({ number }) => number === wanted)
    .map(asBytes)
}

function asBytes({ value }: Field): Uint8Array {
  assert(value instanceof Uint8Array)
  return value
}

function text(bytes: Uint8Array, wanted: number): string {
  return Buffer.from(messages(bytes, wanted).at(-1) ?? []).toString()
}

function hex(bytes: Uint8Array, wanted: number): string {
  return Buffer.from(messages(bytes, wanted).at(-1) ?? []).toString('hex')
}

function number(bytes: Uint8Array, wanted: number): bigint {
  const value = fields(bytes).reduce<Field['value']>(
    (last, { number, value }) => (number === wanted ? value : last),
    0n,
  )
  assert(typeof value === 'bigint')
  return value
}

/** Reads the wire format: varint (0), 64 bits (1), bytes (2), 32 bits (5). */
function fields(bytes: Uint8Array): Field[] {
  const found: Field[] = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    let byte = 0x80
    for (let shift = 0n; byte >= 0x80; shift += 7n) {
      byte = Number(bytes[at++])
      assert(byte >= 0 && shift < 70n, 'a varint ends within ten bytes')
      value |= BigInt(byte & 0x7f) << shift
    }
    return value
  }
  while (at < bytes.length) {
    const key = Number(varint())
    const number = key >>> 3
    const type = key & 7
    if (type === 0) found.push({ number, value: varint() })
    else if (type === 1) {
      found.push({ number, value: view.getBigUint64(at, true) })
      at += 8
    } else if (type === 2) {
      const length = Number(varint())
      assert(at + length <= bytes.length, 'a field ends within its message')
      found.push({ number, value: bytes.subarray(at, at + length) })
      at += length
    } else {
      assert(type === 5, `${type} is a wire type`)
      found.push({ number, value: BigInt(view.getUint32(at, true)) })
      at += 4
    }
  }
  return found
}

/** Reads the JSON form of the same message: ids are hexadecimal, and numbers of 64 bits are texts. */
export function readTraces(json: JsonRequest): ExportedSpan[] {
  return json.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map(span => ({
        traceId: span.traceId,
        spanId: span.spanId,
        // `join` writes an absent text as an empty one.
        parentId: [span.parentSpanId].join(''),
        traceState: [span.traceState].join(''),
        name: span.name,
        kind: span.kind,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        attributes: readAttributes(span.attributes),
        events: span.events.map(({ attributes, name }) => ({ name, attributes: readAttributes(attributes) })),
        links: span.links.map(({ attributes }) => readAttributes(attributes)),
        status: span.status.code,
        scope: scope.name,
        resource: readAttributes(resource.attributes),
      })),
    ),
  )
}

interface JsonAttribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface JsonRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly JsonAttribute[] }
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string }
      readonly spans: readonly {
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly traceState?: string
        readonly name: string
        readonly kind: number
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
        readonly attributes: readonly JsonAttribute[]
        readonly events: readonly { readonly name: string; readonly attributes: readonly JsonAttribute[] }[]
        readonly links: readonly { readonly attributes: readonly JsonAttribute[] }[]
        readonly status: { readonly code: number }
      }[]
    }[]
  }[]
}

function readAttributes(attributes: readonly JsonAttribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : Object.values(value)[0]]),
  )
}
