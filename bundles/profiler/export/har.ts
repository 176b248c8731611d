import { statusText } from '../../../lib/http/response.ts'
import { version } from '../../../lib/package.ts'
import { type BodyData, type ContentData, writeContent } from '../profile/content.ts'
import { formatMoment, formatText } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import type { Pairs } from '../profile/schema.ts'
import { periodOf } from '../profile/work.ts'
import { phasesOf, readCalls, type StoredCall } from '../subjects/http/read.ts'

/** One request and its response. Times are in milliseconds; -1 means unknown. */
interface HarEntry {
  readonly startedDateTime: string
  readonly time: number
  readonly request: HarRequest
  readonly response: HarResponse
  readonly cache: object
  readonly timings: Readonly<Record<'blocked' | 'dns' | 'connect' | 'ssl' | 'send' | 'wait' | 'receive', number>>
  readonly comment: string
}

/** A name and its value. */
interface HarPair {
  readonly name: string
  readonly value: string
}

interface HarRequest extends HarMessage {
  readonly method: string
  readonly url: string
  readonly queryString: readonly HarPair[]
  readonly postData?: { readonly mimeType: string; readonly params: readonly HarParam[]; readonly text: string }
}

/** A field of a form; for a file, with its name and type instead of a value. */
interface HarParam extends Omit<HarPair, 'value'> {
  readonly value?: string
  readonly fileName?: string
  readonly contentType?: string
}

interface HarResponse extends HarMessage {
  readonly status: number
  readonly statusText: string
  readonly content: {
    readonly size: number
    readonly mimeType: string
    readonly text: string
    readonly comment: string
  }
  readonly redirectURL: string
}

interface HarMessage {
  readonly httpVersion: string
  readonly cookies: readonly HarPair[]
  readonly headers: readonly HarPair[]
  readonly headersSize: number
  readonly bodySize: number
}

/**
 * Creates the HTTP archive of a profile: its request, then its HTTP client calls. It has no sub-requests, because these
 * use no network. Masked values stay masked.
 */
export function toHar(profile: Profile) {
  return {
    log: {
      version: '1.2',
      creator: { name: 'Sinfonietta', version },
      entries: [toEntry(profile), ...readCalls(profile).calls.map(call => toCallEntry(call, profile.summary.time))],
      comment: `Profile ${profile.summary.token}. Secrets are masked.`,
    },
  }
}

const unknownTimings = { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, wait: 0, receive: 0 } as const

/** The text of a content, with a comment if it is not all of it. */
function toContentText(content: ContentData | undefined): Pick<HarResponse['content'], 'comment' | 'text'> {
  if (content === undefined) return { text: '', comment: 'The body is not recorded.' }
  const { isCut, note = '' } = content
  return { text: writeContent(content), comment: isCut ? 'The body is cut.' : note }
}

function toEntry({ collectors, summary }: Profile): HarEntry {
  const { contentType, duration, method, operation, outcome, status, time, url } = summary
  const { request, response } = collectors
  const httpVersion = `HTTP/${request?.httpVersion || '1.1'}`
  const requestHeaders = toHeaders(request?.headers)
  const responseHeaders = toHeaders(response?.headers)
  const body = request?.body
  return {
    startedDateTime: formatMoment(time),
    time: duration,
    request: {
      method,
      url,
      httpVersion,
      cookies: valuesOf(requestHeaders, 'cookie').flatMap(field => field.split(';').map(toCookie)),
      headers: requestHeaders,
      queryString: toPairs(request?.query),
      ...(body !== undefined && toPostData(body)),
      headersSize: -1,
      bodySize: body === undefined ? 0 : (toSize(body.length) ?? -1),
    },
    response: {
      status,
      statusText: status === 0 ? '' : statusText(status),
      httpVersion,
      cookies: valuesOf(responseHeaders, 'set-cookie').map(field => toCookie(field.split(';', 1).join())),
      headers: responseHeaders,
      content: { size: toSize(response?.size) ?? 0, mimeType: contentType ?? '', ...toContentText(response?.content) },
      redirectURL: valuesOf(responseHeaders, 'location').join(),
      headersSize: -1,
      bodySize: toSize(response?.size) ?? -1,
    },
    cache: {},
    timings: { ...unknownTimings, wait: duration },
    comment: `The request of this profile${operation === null ? '' : ` (${operation})`}${outcome === 'complete' ? '' : `: ${outcome}`}.`,
  }
}

function toCallEntry(call: StoredCall, began: number): HarEntry {
  const { bytes, error, method, start, status, url } = call
  const phases = Object.fromEntries(phasesOf(call).map(({ duration, name }) => [name, duration]))
  const { duration } = periodOf(call)
  const sent = toHeaders(call.request?.headers)
  const received = toHeaders(call.response?.headers)
  const { queued = 0, sending = 0, waiting = 0, receiving = 0 } = phases
  return {
    startedDateTime: formatMoment(began + start),
    time: queued + sending + waiting + receiving,
    request: {
      method,
      url,
      httpVersion: 'unknown',
      cookies: valuesOf(sent, 'cookie').flatMap(field => field.split(';').map(toCookie)),
      headers: sent,
      queryString: toQuery(url),
      ...(call.request?.content !== undefined && toPostData(call.request.content)),
      headersSize: -1,
      bodySize: toSize(call.request?.content?.length) ?? -1,
    },
    response: {
      status,
      statusText: status === 0 ? '' : statusText(status),
      httpVersion: 'unknown',
      cookies: valuesOf(received, 'set-cookie').map(field => toCookie(field.split(';', 1).join())),
      headers: received,
      content: {
        size: toSize(call.response?.content?.length) ?? toSize(bytes) ?? 0,
        mimeType: valuesOf(received, 'content-type').join() || 'x-unknown',
        ...toContentText(call.response?.content),
      },
      redirectURL: valuesOf(received, 'location').join(),
      headersSize: -1,
      bodySize: toSize(bytes) ?? -1,
    },
    cache: {},
    timings: { ...unknownTimings, blocked: queued, send: sending, wait: waiting, receive: receiving },
    comment: error === '' ? `HTTP client call of the application, ${duration} ms.` : error,
  }
}

/** A valid number of bytes: damaged profiles may contain any number. */
function toSize(value: number | null | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Without the entry `…`, which marks omitted headers. */
function toHeaders(fields: Pairs | undefined): HarPair[] {
  return toPairs(fields).filter(({ name }) => /^[\w!#$%&'*+.^`|~-]+$/.test(name))
}

function toPairs(pairs: Pairs = []): HarPair[] {
  return pairs.map(([name, value]) => ({ name, value: formatText(value) }))
}

function toQuery(url: string): HarPair[] {
  const [, query = ''] = /\?([^#]*)/.exec(url) ?? []
  return Array.from(new URLSearchParams(query), ([name, value]) => ({ name, value }))
}

function valuesOf(headers: readonly HarPair[], wanted: string): string[] {
  return headers.filter(({ name }) => name.toLowerCase() === wanted).map(({ value }) => value)
}

function toCookie(pair: string): HarPair {
  const [name = '', ...value] = pair.trim().split('=')
  return { name, value: value.join('=') }
}

function toPostData(body: ContentData & Pick<BodyData, 'files'>): Pick<HarRequest, 'postData'> {
  const { files = [], form = [], json, type } = body
  const uploads = files.map(({ field, name, type }) => ({ name: field, fileName: name, contentType: type }))
  const params = [...toPairs(form), ...uploads]
  const text = writeContent(body)
  if (json === undefined && params.length === 0 && text === '') return {}
  return { postData: { mimeType: type, params, text: uploads.length > 0 ? '' : text } }
}
