import { hiddenValue, type QueryParameters, type QueryStart } from '../../../../kernel/queries.ts'
import { type CopyBounds, MaskingCopier, type TextMasker } from '../../../../lib/redact/masking-copier.ts'
import { statementLimit } from '../../../../lib/sql/statement.ts'

/** Values of one query that are kept. */
const valueLimit = 100

/** Characters of a text that is kept; one text may be a whole file. */
const textLimit = statementLimit

/** Bytes of a binary value that is compared with those of other queries, such as a key. */
const keyLimit = 64

const copyBounds: CopyBounds = { depth: 4, entries: 100, text: 500, total: 4000 }

/** A value that is not kept itself. */
export class ValueSummary {
  /** Its type and its size. */
  readonly text: string
  /** A masked copy, for a list or an object. */
  readonly copy: unknown
  /** Equal for equal values; `undefined` if it is not known. */
  readonly identity: string | undefined

  constructor(text: string, { copy, identity }: { readonly copy?: unknown; readonly identity?: string } = {}) {
    this.text = text
    this.copy = copy
    this.identity = identity
  }
}

const hidden = new ValueSummary('?')

/**
 * Copies the start of a query for the time until its request is collected: the application may change its values, and
 * long ones would stay in memory. At most 100 values are kept.
 */
export function captureQuery(start: QueryStart, masker: TextMasker): QueryStart {
  // Not by spreading: a start may be an object of a class, with getters.
  const { batch, elapsed, namespace, parameters, server, source, system, text, transaction } = start
  return {
    system,
    source,
    namespace,
    server,
    batch,
    elapsed,
    transaction,
    text: text.slice(0, textLimit + 1),
    parameters: parameters && captureParameters(parameters, masker),
  }
}

function captureParameters(parameters: QueryParameters, masker: TextMasker): QueryParameters {
  if (!Array.isArray(parameters)) {
    const entries = Object.entries(parameters).slice(0, valueLimit)
    return Object.fromEntries(entries.map(([name, value]) => [name, captureValue(value, masker)]))
  }
  const captured: unknown[] = []
  const length = Math.min(parameters.length, valueLimit)
  for (let index = 0; index < length; index++) captured.push(captureValue(parameters[index], masker))
  return captured
}

function captureValue(value: unknown, masker: TextMasker): unknown {
  if (typeof value === 'string') return value.length <= textLimit ? value : new ValueSummary(describeText(value))
  if (value === hiddenValue) return hidden
  if (typeof value !== 'object' || value === null || value instanceof ValueSummary) return value
  if (value instanceof Date) return new Date(value)
  if (ArrayBuffer.isView(value)) {
    const { byteLength } = value
    const bytes = new Uint8Array(value.buffer, value.byteOffset, byteLength)
    const identity = byteLength <= keyLimit ? Buffer.from(bytes).toString('hex') : undefined
    return new ValueSummary(`binary, ${byteLength} bytes`, { ...(identity !== undefined && { identity }) })
  }
  const copy = new MaskingCopier(masker, copyBounds).value('', value)
  return new ValueSummary(Array.isArray(value) ? `list, ${value.length} items` : 'object', { copy })
}

/** The type and the length of a text. */
export function describeText(text: string): string {
  return `text, ${text.length} characters`
}

/**
 * A text that two captured queries with the same statement share if their systems and all of their values are equal;
 * `undefined` where this is not known.
 */
export function identityOf({ parameters = [], system, text }: QueryStart): string | undefined {
  if (text.length > textLimit) return undefined
  const isList = Array.isArray(parameters)
  let identity = withLength(isList ? system : `${system} ${JSON.stringify(Object.keys(parameters))}`)
  for (const value of isList ? parameters : Object.values(parameters)) {
    const part = identityOfValue(value)
    if (part === undefined) return undefined
    identity += withLength(part)
  }
  return identity
}

/** Different lists of texts that are joined in this way differ. */
function withLength(text: string): string {
  return `${text.length} ${text}`
}

function identityOfValue(value: unknown): string | undefined {
  if (value instanceof ValueSummary) return value.identity
  return value instanceof Date ? `date ${value.getTime()}` : `${typeof value} ${value}`
}
