import { nameOfController } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import { traceContextOf } from '../../../../kernel/trace-context.ts'
import { decodeUtf8 } from '../../../../lib/body/body-source.ts'
import { type FormData, parseForm } from '../../../../lib/body/form-data.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { MaskingCopier } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { isSecretCode, mask } from '../../../../lib/redact/secret-names.ts'
import type { BodyData, FileData } from '../../profile/content.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { copyForm, copyHeaders, createCopier } from '../../record/copy.ts'
import type { Trace } from '../../record/trace.ts'
import type { RequestData } from './data.ts'

/** Collects the request, and the attributes that listeners set. */
export class RequestCollector implements CollectorOf<'request'> {
  readonly name = 'request'
  readonly #redactor: Redactor
  readonly #debugGate: Pick<DebugGate, 'allows'>

  constructor(redactor: Redactor, debugGate: Pick<DebugGate, 'allows'>) {
    this.#redactor = redactor
    this.#debugGate = debugGate
  }

  collect({ request }: Trace): RequestData {
    const redactor = this.#redactor
    const data: RequestDraft = {
      httpVersion: request.httpVersion,
      headers: copyHeaders(request.headers, createCopier(redactor)),
      attributes: copyAttributes(request, createCopier(redactor)),
      isDebugAllowed: this.#debugGate.allows(request),
      id: request.id,
    }
    const trace = traceContextOf(request)
    if (trace !== undefined) data.traceId = trace.traceId
    if (trace?.parentId !== undefined && request.parent === undefined) data.parentSpanId = trace.parentId
    if (trace?.spanId !== undefined) data.spanId = trace.spanId
    if (request.queryString !== '') data.query = copyQuery(request.query, createCopier(redactor))
    const body = describeBody(request, redactor)
    if (body !== undefined) data.body = body
    return data
  }
}

function copyQuery(query: URLSearchParams, copier: MaskingCopier): Pairs {
  return copier.pairs(query, (name, value) => (isSecretCode(name, query) ? mask : copier.value(name, value)))
}

type RequestDraft = { -readonly [field in keyof RequestData]: RequestData[field] }

function copyAttributes({ attributes }: Request, copier: MaskingCopier): Pairs {
  return copier.pairs(attributes, (name, value) =>
    name === '_controller' ? copier.text(nameOfController(value, attributes.get('_route'))) : copier.value(name, value),
  )
}

/** Characters of a text that are parsed: the profile keeps the first 16 KiB at most. */
const parseLimit = 262_144

/** More than the application accepts by default. */
const fieldLimit = 1000

/**
 * Describes the body as far as the application has read it. Forms and JSON are copied and masked; other bodies are
 * described by type and length, because secrets in them are not recognised. `undefined` without a body.
 */
export function describeBody({ body, headers, parent }: Request, redactor: Redactor): BodyData | undefined {
  if (!body.isPresent) return undefined
  const { bytes, form } = body.peek()
  const type = createCopier(redactor).text(body.contentType)
  const announced = headers.get('content-length')
  const length = bytes?.length ?? (announced === null ? null : Number(announced))
  if (parent !== undefined) return { type, length, state: 'parent' }
  if (form !== undefined) return { type, length, state: 'read', ...describeForm(form, redactor) }
  if (bytes !== undefined) return { type, length, state: 'read', ...describeBytes(body.contentType, bytes, redactor) }
  return { type, length, state: body.wasRead ? 'broken' : 'unread' }
}

function describeForm(fields: FormData, redactor: Redactor): Pick<BodyData, 'form' | 'files'> {
  const copier = createCopier(redactor)
  const texts: [string, string][] = []
  const files: FileData[] = []
  for (const [field, value] of fields) {
    if (typeof value === 'string') texts.push([field, value])
    else {
      const { name, size, type } = value
      files.push({ field: copier.text(field), name: copier.text(name), type: copier.text(type), size })
    }
  }
  return { form: copyForm(texts, copier), files }
}

function describeBytes(type: string, bytes: Uint8Array, redactor: Redactor): Pick<BodyData, 'form' | 'json' | 'note'> {
  const isForm = type === 'application/x-www-form-urlencoded'
  const isJson = type === 'application/json' || type.endsWith('+json')
  if (!isForm && !isJson)
    return { note: 'Only forms and JSON are recorded: in other content, secrets cannot be detected.' }
  if (bytes.length > parseLimit) return { note: 'Too large to be stored.' }
  try {
    const text = decodeUtf8(bytes).replace(/^\ufeff/, '')
    if (isForm) return describeForm(parseForm(text, fieldLimit), redactor)
    return { json: [createCopier(redactor).value('', JSON.parse(text))] }
  } catch {
    return { note: `Not a valid ${isForm ? 'form' : 'JSON'} body.` }
  }
}
