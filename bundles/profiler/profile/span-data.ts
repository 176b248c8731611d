import * as v from 'valibot'
import { check, maybe, type Pairs, pairs, type Schema, text } from './schema.ts'

/** What a span stands for, by the words of OpenTelemetry. */
export const spanKinds = ['internal', 'server', 'client', 'producer', 'consumer'] as const

/** One of {@link spanKinds}. */
export type SpanKind = (typeof spanKinds)[number]

/** A span that a service has sent to the profiler. Its texts are masked and shortened. */
export interface ReceivedSpan {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string
  /** The id of the span that contains it; absent from the first span of a trace. */
  readonly parentId?: string | undefined
  /** The name of the service. */
  readonly service: string
  /** Differs between the processes of a service. */
  readonly process: string
  readonly name: string
  readonly kind: SpanKind
  /** Microseconds since 1970. */
  readonly start: number
  readonly end: number
  /** Present if the span has failed; the message may be empty. */
  readonly error?: string | undefined
  readonly attributes: Pairs
}

const id = v.pipe(v.string(), v.regex(/^[0-9a-f]+$/))

/** The schema of a stored span. A span without ids or times is left out. */
const receivedSpanSchema: Schema<ReceivedSpan> = v.object({
  traceId: id,
  spanId: id,
  parentId: maybe<string>(id),
  service: text,
  process: text,
  name: text,
  kind: v.fallback(v.picklist(spanKinds), 'internal'),
  start: check.amount,
  end: check.amount,
  error: maybe(check.text),
  attributes: pairs,
})

/** Parses a stored span; `undefined` when it is damaged. */
export function parseReceivedSpan(value: unknown): ReceivedSpan | undefined {
  const result = v.safeParse(receivedSpanSchema, value, { abortEarly: true })
  return result.success ? result.output : undefined
}
