import type { DebugGate } from '../../../kernel/debug-gate.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { isSecretCode, mask } from '../../../lib/redact/secret-names.ts'
import { readProperty } from '../../../lib/stack/read-property.ts'
import type { Pass } from '../recording/pass.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'
import { copyHeaders, type Pairs } from './copy-headers.ts'
import { createCopier } from './create-copier.ts'
import { type BodyData, describeBody } from './describe-body.ts'

/** What a profile tells of a request; what is empty is absent. Names of cookies stand in the headers. */
export interface RequestData {
  readonly httpVersion: string
  readonly headers: Pairs
  readonly attributes: Pairs
  /** Whether its client may see debug output: a replay may do so only then. */
  readonly isDebugAllowed: boolean
  readonly query?: Pairs
  readonly body?: BodyData
}

/** Tells what was sent, and what listeners have attached to it. */
export class RequestCollector implements ProfileCollector {
  readonly name = 'request'
  readonly #redactor: Redactor
  readonly #debugGate: Pick<DebugGate, 'allows'>

  constructor(redactor: Redactor, debugGate: Pick<DebugGate, 'allows'>) {
    this.#redactor = redactor
    this.#debugGate = debugGate
  }

  collect({ request }: Pass): RequestData {
    const redactor = this.#redactor
    const data: RequestDraft = {
      httpVersion: request.httpVersion,
      headers: copyHeaders(request.headers, createCopier(redactor)),
      attributes: copyAttributes(request, createCopier(redactor)),
      isDebugAllowed: this.#debugGate.allows(request),
    }
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
    name === '_controller' ? copier.text(nameOf(value)) : copier.value(name, value),
  )
}

/** A controller is named in the attributes, or stands there itself. */
function nameOf(controller: unknown): string {
  return typeof controller === 'string' ? controller : String(readProperty(controller, 'name') || 'anonymous')
}
