import { Readable } from 'node:stream'
import type { Body, Response } from '../../../lib/http/response.ts'
import { mask } from '../../../lib/redact/mask-text.ts'
import type { MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { Pass } from '../pass.ts'
import type { ProfileCollector } from '../profile-collector.ts'
import { createCopier } from './create-copier.ts'

/** What a profile tells of a response. */
export interface ResponseData {
  /** Names may come twice. */
  readonly headers: readonly (readonly [name: string, value: unknown])[]
  /** Bytes of the body, whether or not all of them were sent; `null` when only its end would tell. */
  readonly size: number | null
  readonly isStreamed: boolean
}

/** Tells what was answered: of a main request what was on the wire, of a sub-request what it has returned. */
export class ResponseCollector implements ProfileCollector {
  readonly name = 'response'
  readonly #redactor: Redactor

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  collect({ response }: Pass): ResponseData | undefined {
    if (response === undefined) return undefined
    const copier = createCopier(this.#redactor)
    const copy = (name: string, value: unknown) =>
      name.toLowerCase() === 'set-cookie' ? maskSetCookie(String(value), copier) : copier.value(name, value)
    return {
      headers: copier.pairs(response.headers, copy),
      size: sizeOf(response),
      isStreamed: response.body instanceof Readable,
    }
  }
}

/** Hides the value and keeps how the cookie is set, which is what goes wrong. */
function maskSetCookie(field: string, copier: MaskingCopier): string {
  const end = field.indexOf(';')
  const pair = end === -1 ? field : field.slice(0, end)
  const attributes = end === -1 ? '' : copier.text(field.slice(end))
  const separator = pair.indexOf('=')
  // Without a name it is all value.
  const name = pair.slice(0, separator + 1)
  return `${copier.text(name)}${pair === name ? '' : mask}${attributes}`
}

function sizeOf({ body, headers }: Response): number | null {
  const announced = headers.get('content-length')
  return announced === null ? lengthOf(body) : Number(announced)
}

function lengthOf(body: Body): number | null {
  if (body instanceof Readable) return null
  return body === null ? 0 : Buffer.byteLength(body)
}
