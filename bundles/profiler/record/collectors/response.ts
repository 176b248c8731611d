import { Readable } from 'node:stream'
import type { Body, Response } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { ProfileCollector } from '../collect.ts'
import type { Trace } from '../trace.ts'
import { copyHeaders, createCopier, type Pairs } from './copy.ts'

/** What a profile tells of a response. */
export interface ResponseData {
  readonly headers: Pairs
  /** Bytes of the body before compression, whether or not all were sent; `null` when only its end would tell. */
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

  collect({ response }: Trace): ResponseData | undefined {
    if (response === undefined) return undefined
    return {
      headers: copyHeaders(response.headers, createCopier(this.#redactor)),
      size: sizeOf(response),
      isStreamed: response.body instanceof Readable,
    }
  }
}

function sizeOf({ body, headers, originalSize }: Response): number | null {
  if (originalSize !== undefined) return originalSize
  const announced = headers.get('content-length')
  return announced === null ? lengthOf(body) : Number(announced)
}

function lengthOf(body: Body): number | null {
  if (body instanceof Readable) return null
  return body === null ? 0 : Buffer.byteLength(body)
}
