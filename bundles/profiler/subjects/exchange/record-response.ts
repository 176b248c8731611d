import { Readable } from 'node:stream'
import { EventStream } from '../../../../lib/http/event-stream.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { type Body, isBodiless, type Response } from '../../../../lib/http/response.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask, type NameTest } from '../../../../lib/redact/secret-names.ts'
import { escapeRegExp } from '../../../../lib/text/escapes.ts'
import type { ContentData } from '../../profile/content.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type ContentCopier, copyHeaders, createCopier } from '../../record/copy.ts'
import type { Trace } from '../../record/trace.ts'
import type { ResponseData } from './data.ts'

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

  summarize(_: Trace, data: ResponseData | undefined): Partial<ProfileSummary> {
    return { size: data?.sent ?? data?.size ?? null }
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

/** A shorter secret would also mask parts of ordinary words. */
const shortest = 6

/** A cookie with an ordinary name, such as `theme`, has an ordinary value, unless it is long. */
const shortestCookie = 16

/** The most values of a request that are looked for. */
const limit = 100

/**
 * Creates a function that masks the secrets of a request in the text of its response: an application may show a token that
 * the client has sent, or that it has just set as a cookie.
 */
function createEchoMask(
  request: Request,
  { headers }: Pick<Response, 'headers'>,
  isSecret: NameTest,
): (text: string) => string {
  const secrets = new Set([...findSecrets(request, isSecret), ...findCookies(headers.getAll('set-cookie'), isSecret)])
  const forms = [...secrets].slice(0, limit).flatMap(secret => [secret, encodeURIComponent(secret.toWellFormed())])
  if (forms.length === 0) return text => text
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g')
  return text => text.replace(pattern, mask)
}

function* findSecrets({ body, cookies, headers, query }: Request, isSecret: NameTest): Generator<string> {
  for (const [name, value] of cookies) if (isLong(name, value, isSecret)) yield value
  for (const [name, value] of headers) {
    // In an authorization the secret follows the scheme, such as `Bearer`.
    const secret = value.replace(/^[A-Za-z]+ +/, '')
    if (name !== 'cookie' && secret.length >= shortest && isSecret(name)) yield secret
  }
  for (const fields of [query, body.peek().form ?? []]) {
    for (const [name, value] of fields) {
      if (typeof value === 'string' && value.length >= shortest && isSecret(name)) yield value
    }
  }
}

function* findCookies(fields: readonly string[], isSecret: NameTest): Generator<string> {
  for (const field of fields) {
    const [pair = ''] = field.split(';', 1)
    const at = pair.indexOf('=')
    const value = pair.slice(at + 1)
    if (isLong(pair.slice(0, at), value, isSecret)) yield value
  }
}

function isLong(name: string, value: string, isSecret: NameTest): boolean {
  return value.length >= (isSecret(name) ? shortest : shortestCookie)
}
