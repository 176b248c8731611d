import { setImmediate } from 'node:timers/promises'
import { maskQuotedValues } from '../../../../lib/redact/mask-credentials.ts'
import { MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import {
  isStatementAttribute,
  isValueAttribute,
  statementAttributes,
  systemAttributes,
} from '../../../../lib/sql/tokens.ts'
import { type ReceivedSpan, type SpanKind, spanKinds } from '../../profile/span-data.ts'
import { QueryDescriber } from '../../subjects/queries/describe-query.ts'

/** Names and values of a resource or of a span. */
export type OtlpAttributes = readonly (readonly [name: string, value: unknown])[]

/** A span as it was sent, with the fields that are read. Nothing of it is checked yet. */
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
export interface OtlpResource {
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
export const spanLimit = 10_000

/** More attributes of one span or resource, and items of one list, are not decoded. */
export const listLimit = 128

/** Levels of lists and objects in the value of an attribute. */
export const valueDepth = 4

/** The number of the protocol for a status that is an error. */
export const errorStatus = 2

/** The spans that can be stored, and how many cannot. */
interface SortedSpans {
  readonly spans: readonly ReceivedSpan[]
  readonly rejected: number
}

/**
 * Masks and shortens the spans of a message. A span without valid ids or times is rejected. Statements of databases are
 * stored without the values in them, and values of parameters not at all. Other work of the process goes on meanwhile: a
 * message has up to a million attributes.
 */
export async function toReceivedSpans({ omitted, resources }: OtlpMessage, redactor: Redactor): Promise<SortedSpans> {
  const spans: ReceivedSpan[] = []
  const describer = new QueryDescriber(redactor)
  let rejected = omitted
  let begun = performance.now()
  for (const resource of resources) {
    const { process, service } = describeResource(resource.attributes, redactor)
    for (const span of resource.spans) {
      if (isValid(span)) spans.push({ service, process, ...toSpan(span, redactor, describer) })
      else rejected++
      if (performance.now() - begun < sliceTime) continue
      await setImmediate()
      begun = performance.now()
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

/** The copier has one level more than the decoders. */
const copyBounds = { depth: valueDepth + 1, entries: 4 * listLimit, text: 1000, total: 8192 } as const

type OwnFields = Omit<ReceivedSpan, 'service' | 'process'>

function toSpan(span: OtlpSpan, redactor: Redactor, describer: QueryDescriber): OwnFields {
  const copier = new MaskingCopier(redactor, copyBounds)
  const shape = findShape(span.attributes, describer)
  const { end, hasFailed, kind, message, parentId, spanId, start, traceId } = span
  return {
    traceId,
    spanId,
    ...(parentId !== '' && { parentId }),
    name: maskAndCut(span.name, nameLength, redactor),
    kind: toKind(kind),
    start,
    end,
    ...(hasFailed && { error: maskMessage(message, shape, copier) }),
    attributes: copier.pairs(withoutValues(span.attributes, shape)),
  }
}

function maskMessage(message: string, shape: string | undefined, copier: MaskingCopier): string {
  const masked = copier.text(message)
  return shape === undefined ? masked : maskQuotedValues(masked, shape)
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

/** In the protocol, 0 is "unspecified" and 1 is "internal". */
function toKind(kind: number): SpanKind {
  return spanKinds[kind - 1] ?? 'internal'
}
