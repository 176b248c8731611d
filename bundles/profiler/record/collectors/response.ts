import { Readable } from 'node:stream'
import { EventStream } from '../../../../lib/http/event-stream.ts'
import type { Body, Response } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { ResponseData } from '../../profile/exchange-data.ts'
import type { CollectorOf } from '../collect.ts'
import type { Trace } from '../trace.ts'
import { copyHeaders, createCopier } from './copy.ts'

/** Collects the response: of a main request as it was sent, of a sub-request as it was returned. */
export class ResponseCollector implements CollectorOf<'response'> {
  readonly name = 'response'
  readonly #redactor: Redactor

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  collect({ response, sentBytes }: Trace): ResponseData | undefined {
    if (response === undefined) return undefined
    return {
      headers: copyHeaders(response.headers, createCopier(this.#redactor)),
      size: sizeOf(response),
      isStreamed: response.body instanceof Readable,
      ...(sentBytes !== undefined && { sent: sentBytes }),
      ...(response instanceof EventStream && { events: response.sentEvents }),
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
