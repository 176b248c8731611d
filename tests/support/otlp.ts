import { PbfWriter } from 'pbf'
import type { ProfileStorage } from 'sinfonietta/profiler'

/** A span of another service, as it is stored. */
export type ReceivedSpan = Awaited<ReturnType<ProfileStorage['spans']['find']>>[number]

/** The ids of the spans in tests. */
export const traceId = 'aa112233445566778899aabbccddeeff'

/** A span id whose last digits are a number. */
export function spanIdOf(number: number): string {
  return `b${String(number).padStart(15, '0')}`
}

/** Makes a stored span of the service "stock", which lasts a millisecond. */
export function createReceivedSpan(changes: Partial<ReceivedSpan> = {}): ReceivedSpan {
  const start = Date.parse('2026-11-20T23:15:09.042Z') * 1000
  return {
    traceId,
    spanId: spanIdOf(1),
    service: 'stock',
    process: 'a',
    name: 'GET /stock',
    kind: 'server',
    start,
    end: start + 1000,
    attributes: [],
    ...changes,
  }
}

/** A span in OTLP/JSON. */
export type JsonSpan = Readonly<Record<string, unknown>>

/** A valid span in OTLP/JSON. */
export const jsonSpan: JsonSpan = {
  traceId,
  spanId: spanIdOf(1),
  parentSpanId: spanIdOf(2),
  name: 'GET /stock',
  kind: 2,
  startTimeUnixNano: '1795216509042000000',
  endTimeUnixNano: '1795216509043500000',
}

/** A message in OTLP/JSON with spans of the service "stock". */
export function toMessage(spans: readonly unknown[], service: unknown = { stringValue: 'stock' }): object {
  const resource = { attributes: [{ key: 'service.name', value: service }] }
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'test' }, spans }] }] }
}

/** Encodes a message within a message of Protocol Buffers. */
export function field(tag: number, write: (writer: PbfWriter) => void): (writer: PbfWriter) => void {
  return writer => writer.writeMessage(tag, (_, inner) => write(inner), undefined)
}

/** Encodes fields of Protocol Buffers. */
export function encode(...fields: readonly ((writer: PbfWriter) => void)[]): Uint8Array {
  const writer = new PbfWriter()
  for (const write of fields) write(writer)
  return writer.finish()
}
