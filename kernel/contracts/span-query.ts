import { withoutStack } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { statementAttributes } from '../../lib/sql/tokens.ts'
import type { QueryParameters, QueryStart } from './queries.ts'

/** A span of a database client, as the SDK of OpenTelemetry has it. */
export interface DatabaseSpan {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code?: unknown; readonly message?: string | undefined }
  readonly events: readonly {
    readonly name: string
    readonly attributes?: Readonly<Record<string, unknown>> | undefined
  }[]
}

/**
 * A query whose texts are read from its span when they are needed: instrumentations set them after the span has begun.
 */
export class SpanQuery implements QueryStart {
  readonly system: string
  readonly request: Request
  readonly source = 'span'
  readonly findCaller: QueryStart['findCaller']
  readonly elapsed: number
  readonly #span: DatabaseSpan

  /** `elapsed` are the milliseconds since it began, for a span that is reported at its end. */
  constructor(
    span: DatabaseSpan,
    { findCaller, request, system }: Required<Pick<QueryStart, 'system' | 'request' | 'findCaller'>>,
    elapsed = 0,
  ) {
    this.#span = span
    this.system = system
    this.request = request
    this.findCaller = findCaller
    this.elapsed = elapsed
  }

  get text(): string {
    const statement = findAttribute(this.#span, ...statementAttributes)
    if (typeof statement === 'string') return statement
    const operation = findAttribute(this.#span, 'db.operation.name', 'db.operation')
    const collection = findAttribute(this.#span, 'db.collection.name', 'db.mongodb.collection', 'db.sql.table')
    return operation === undefined ? this.#span.name : `${operation} ${collection ?? ''}`.trim()
  }

  get parameters(): QueryParameters | undefined {
    const { attributes } = this.#span
    const values = attributes['db.postgresql.values']
    if (Array.isArray(values)) return values
    const named = Object.entries(attributes).filter(([name]) => name.startsWith(parameterPrefix))
    if (named.length === 0) return undefined
    return Object.fromEntries(named.map(([name, value]) => [name.slice(parameterPrefix.length), value]))
  }

  get namespace(): string | undefined {
    return readText(findAttribute(this.#span, 'db.namespace', 'db.name', 'db.redis.database_index'))
  }

  /** The path of a socket has no port. */
  get server(): string | undefined {
    const address = readText(findAttribute(this.#span, 'server.address', 'net.peer.name', 'net.peer.ip'))
    const port = findAttribute(this.#span, 'server.port', 'net.peer.port')
    return address === undefined || port === undefined || address.startsWith('/') ? address : `${address}:${port}`
  }

  get batch(): number | undefined {
    return toCount(findAttribute(this.#span, 'db.operation.batch.size'))
  }
}

const parameterPrefix = 'db.query.parameter.'

/** The first of these attributes that a span has: newer and older names of OpenTelemetry's conventions. */
export function findAttribute({ attributes }: DatabaseSpan, ...names: readonly string[]): unknown {
  const name = names.find(name => attributes[name] !== undefined)
  return name === undefined ? undefined : attributes[name]
}

export function readText(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}

export function toCount(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

const errorStatus = 2

/** The error of a failed span, with its code as far as the span has it; `undefined` for a span that has not failed. */
export function findError(span: DatabaseSpan): Error | undefined {
  const { events, status } = span
  if (status.code !== errorStatus) return undefined
  const exception = events.find(({ name }) => name === 'exception')?.attributes
  const reported = String(exception?.['exception.message'] ?? '')
  // The instrumentation of pg writes the SQLSTATE into this message only.
  const code = findAttribute(span, 'db.response.status_code') ?? /\(code: (\w{5})\)$/.exec(reported)?.[1]
  const error = withoutStack(() => new Error(status.message || reported || 'The query has failed.'))
  return code === undefined ? error : Object.assign(error, { code: String(code) })
}
