import { Readable } from 'node:stream'
import { EventStream } from '../../../../lib/http/event-stream.ts'
import { type Body, isBodiless, type Response } from '../../../../lib/http/response.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { ContentData } from '../../profile/content-data.ts'
import type { ResponseData } from '../../profile/exchange-data.ts'
import type { CollectorOf } from '../collect.ts'
import type { ContentCopier } from '../content.ts'
import { createEchoMask } from '../echoed-secrets.ts'
import type { Trace } from '../trace.ts'
import { copyHeaders, createCopier } from './copy.ts'

/** Bytes of the name and the value. Browsers keep at least 4,096 bytes of a cookie, and send it with each request (RFC 6265, section 6.1). */
const largeCookie = 3000

const nameLength = 100

/** Collects the response: of a main request as it was sent, of a sub-request as it was returned. */
export class ResponseCollector implements CollectorOf<'response'> {
  readonly name = 'response'
  readonly #redactor: Redactor
  readonly #contents: ContentCopier

  constructor(redactor: Redactor, contents: ContentCopier) {
    this.#redactor = redactor
    this.#contents = contents
  }

  collect(trace: Trace): ResponseData | undefined {
    const { response, sentBytes } = trace
    if (response === undefined) return undefined
    const content = this.#copyContent(trace, response)
    const largeCookies = this.#findLargeCookies(response)
    return {
      headers: copyHeaders(response.headers, createCopier(this.#redactor)),
      size: sizeOf(response),
      isStreamed: response.body instanceof Readable,
      ...(sentBytes !== undefined && { sent: sentBytes }),
      ...(response instanceof EventStream && { events: response.sentEvents }),
      ...(largeCookies.length > 0 && { largeCookies }),
      ...(content !== undefined && { content }),
    }
  }

  #findLargeCookies({ headers }: Response): [name: string, bytes: number][] {
    return headers.getAll('set-cookie').flatMap(cookie => {
      const [pair = ''] = cookie.length < largeCookie ? [] : cookie.split(';', 1)
      const [name = ''] = pair.split('=', 1)
      const size = pair.replace('=', '').length
      return size < largeCookie ? [] : [[maskAndCut(name, nameLength, this.#redactor), size]]
    })
  }

  #copyContent({ page, request }: Trace, { body, headers, status }: Response): ContentData | undefined {
    const type = headers.get('content-type') ?? ''
    // The profiler's own error pages show data that is in the profile already.
    const isOwn = headers.has('x-debug-exception') && /^text\/(?:html|plain|markdown)/.test(type)
    if (isOwn || request.method === 'HEAD' || isBodiless(status)) return undefined
    const encoding = headers.get('content-encoding') ?? ''
    const sent = page ?? { body, encoding }
    if (sent.body === null || sent.body instanceof Readable) return undefined
    // Not earlier: under load, most contents are not copied.
    const hide = (text: string) => createEchoMask(request, { headers }, this.#redactor.isSecret)(text)
    return this.#contents.copy({ body: sent.body, type, encoding: sent.encoding, hide })
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
