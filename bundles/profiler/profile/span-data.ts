import * as v from 'valibot'
import { check, maybe, pairs, text } from './schema.ts'

/** What a span stands for, by the words of OpenTelemetry. */
export const spanKinds = ['internal', 'server', 'client', 'producer', 'consumer'] as const

/** One of {@link spanKinds}. */
export type SpanKind = (typeof spanKinds)[number]

/** A span that a service has sent to the profiler. Its texts are masked and shortened. */
export type ReceivedSpan = v.InferOutput<typeof receivedSpanSchema>

const id = v.pipe(v.string(), v.regex(/^[0-9a-f]+$/))

/** The schema of a stored span. A span without ids or times is left out. */
const receivedSpanSchema = v.object({
  /** 32 lower-case hexadecimal digits. */
  traceId: id,
  /** 16 lower-case hexadecimal digits. */
  spanId: id,
  /** The id of the span that contains it; absent from the first span of a trace. */
  parentId: maybe<string>(id),
  /** The name of the service. */
  service: text,
  /** Differs between the processes of a service. */
  process: text,
  name: text,
  kind: v.fallback(v.picklist(spanKinds), 'internal'),
  /** Microseconds since 1970. */
  start: check.amount,
  end: check.amount,
  /** Present if the span has failed; the message may be empty. */
  error: maybe(check.text),
  attributes: pairs,
})

/** Parses a stored span; `undefined` when it is damaged. */
export function parseReceivedSpan(value: unknown): ReceivedSpan | undefined {
  const result = v.safeParse(receivedSpanSchema, value, { abortEarly: true })
  return result.success ? result.output : undefined
}
