import type { Request } from '../../../lib/http/request.ts'
import { mask } from '../../../lib/redact/mask-text.ts'
import type { MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { readProperty } from '../../../lib/stack/read-property.ts'
import type { Pass } from '../pass.ts'
import type { ProfileCollector } from '../profile-collector.ts'
import { createCopier } from './create-copier.ts'
import { type BodyData, describeBody } from './describe-body.ts'

type Pairs = readonly (readonly [name: string, value: unknown])[]

/** What a profile tells of a request. Names may come twice; what is empty is absent. */
export interface RequestData {
  readonly httpVersion: string
  readonly headers: Pairs
  readonly attributes: Pairs
  readonly query?: Pairs
  readonly cookies?: Pairs
  readonly body?: BodyData
}

/** Tells what was sent, and what listeners have attached to it. */
export class RequestCollector implements ProfileCollector {
  readonly name = 'request'
  readonly #redactor: Redactor

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  collect({ request }: Pass): RequestData {
    const redactor = this.#redactor
    const data: RequestDraft = {
      httpVersion: request.httpVersion,
      headers: createCopier(redactor).pairs(request.headers),
      attributes: copyAttributes(request, createCopier(redactor)),
    }
    if (request.queryString !== '') data.query = createCopier(redactor).pairs(request.query)
    // Whatever a cookie is called, whoever sends it may be somebody by it.
    if (request.cookies.size > 0) data.cookies = createCopier(redactor).pairs(request.cookies, hideCookie)
    const body = describeBody(request, redactor)
    if (body !== undefined) data.body = body
    return data
  }
}

type RequestDraft = { -readonly [field in keyof RequestData]: RequestData[field] }

function hideCookie(_name: string, value: unknown): string {
  return value === '' ? '' : mask
}

function copyAttributes({ attributes }: Request, copier: MaskingCopier): Pairs {
  return copier.pairs(attributes, (name, value) =>
    name === '_controller' ? copier.text(nameOf(value)) : copier.value(name, value),
  )
}

/** A controller is named in the attributes, or stands there itself. */
function nameOf(controller: unknown): string {
  return typeof controller === 'string' ? controller : String(readProperty(controller, 'name') || 'anonymous')
}
