import type { Profile } from '../profile.ts'
import { asList, asObject } from '../reading/read-soft.ts'
import { createCurlBody } from './curl-body.ts'
import { formatText } from './format-soft.ts'
import { quoteForShell } from './shell-quote.ts'

/**
 * Writes the curl command that makes a recorded request again, an option a line. What was
 * masked stays masked, and has to be filled in by hand. Comments before the command say what it does not send.
 */
export function createCurl({ data, summary }: Pick<Profile, 'data' | 'summary'>): string {
  const method = formatText(asObject(summary).method)
  const url = formatText(asObject(summary).url)
  const request = asObject(asObject(data).request)
  const fields = asList(request.headers)
    .filter(field => Array.isArray(field))
    .map(([name, value]): Field => [formatText(name), formatText(value)])
  const headers = fields.filter(isSendable)
  const body = createCurlBody(asObject(request.body), method, contentTypeOf(headers))
  const isSent = ([name]: Field) => !ownHeaders.has(name.toLowerCase()) && !(body.setsType && isContentType(name))
  const lines = [
    `curl ${writeMethod(method, body.options.length > 0)}${writeAddress(url)}`,
    ...writeTarget(url),
    ...headers.filter(isSent).flatMap(writeHeader),
    ...body.options,
  ]
  const remarks = [...(headers.length < fields.length ? ['Headers that were cut are left out.'] : []), ...body.remarks]
  // A recorded text in a comment could end it.
  return `${remarks.map(remark => `# ${remark}\n`).join('')}${lines.join(' \\\n  ')}`
}

/** Writes what is known of an outgoing request as a curl command: neither headers nor bodies are recorded. */
export function createCallCurl({ method, url }: { readonly method: string; readonly url: string }): string {
  return [`curl ${writeMethod(method, false)}`.trim(), ...writeTarget(url), '--url', quoteForShell(url)].join(' ')
}

type Field = readonly [name: string, value: string]

/** curl sets them itself, rightly. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect'])

/**
 * Whether it can be a header (RFC 9110, sections 5.1 and 5.5): curl sends a line feed as it is, and takes a header that
 * begins with `@` for the name of a file. What was cut cannot.
 */
function isSendable([name, value]: Field): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function isContentType(name: string): boolean {
  return name.toLowerCase() === 'content-type'
}

function contentTypeOf(headers: readonly Field[]): string {
  return headers.find(([name]) => isContentType(name))?.[1] ?? ''
}

/** curl sends GET by itself, and POST once there is a body; to HEAD nobody must wait for one. */
function writeMethod(method: string, hasBody: boolean): string {
  if (method === 'HEAD') return '--head '
  return method === (hasBody ? 'POST' : 'GET') || method === '' ? '' : `--request ${quoteForShell(method)} `
}

/** The value of an option may begin with a dash. */
function writeAddress(url: string): string {
  return `${url.startsWith('-') ? '--url ' : ''}${quoteForShell(url)}`
}

/** Addresses are taken as they are: `[1-3]` is no range, `/../` no way up. */
function writeTarget(url: string): string[] {
  const hasDots = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(url)
  return [...(/[[\]{}]/.test(url) ? ['--globoff'] : []), ...(hasDots ? ['--path-as-is'] : [])]
}

function writeHeader([name, value]: Field): string[] {
  if (name.toLowerCase() === 'accept-encoding') return ['--compressed']
  // Without a value it would be left away.
  return [`--header ${quoteForShell(value.trim() === '' ? `${name};` : `${name}: ${value}`, 'latin1')}`]
}
