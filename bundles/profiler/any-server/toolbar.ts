import type { ServerResponse } from 'node:http'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'

/**
 * Inserts the toolbar into the page of a response, which may also get other header fields. It is
 * unchanged if it can have no toolbar.
 */
export type AddToolbar = (response: Response, request: Request, token: string) => void

/**
 * Creates a page with the toolbar, and changes the head of its reply; `undefined` if the page
 * stays as it is. `head` is that of the reply. A page is HTML that the application sends as a
 * whole, and without a Content-Security-Policy that would have to be changed.
 */
export function insertToolbar(
  reply: ServerResponse,
  head: Response,
  page: Uint8Array,
  add: (response: Response) => void,
): Uint8Array | undefined {
  if (!/^\s*text\/html\b/i.test(head.headers.get('content-type') ?? '')) return undefined
  // Node would refuse another length, and a wrong one is a mistake that must stay.
  const isWrong = ![null, String(page.length)].includes(head.headers.get('content-length'))
  if (reply.strictContentLength || isWrong || !isChangeable(reply)) return undefined
  const response = new Response(page, head)
  add(response)
  const { body } = response
  if (!(body instanceof Uint8Array) || body === page) return undefined
  if (policyNames.some(name => response.headers.get(name) !== head.headers.get(name))) return undefined
  changeHead(reply, body.length)
  return body
}

/** The header fields that a toolbar must not change. */
export const policyNames: readonly string[] = ['content-security-policy', 'content-security-policy-report-only']

/** A browser that has these would go on with an older page, whose toolbar shows an older profile. */
const validators: readonly string[] = ['etag', 'last-modified']

/** The head of a reply as Node keeps it after `writeHead`, until the first byte of the body is written. */
type WrittenHead = ServerResponse & { _header?: unknown; readonly _headerSent?: unknown }

function isChangeable(reply: ServerResponse): boolean {
  const { _header, _headerSent, headersSent } = reply as WrittenHead
  return !headersSent || (typeof _header === 'string' && _headerSent === false)
}

function changeHead(reply: WrittenHead, length: number): void {
  const { _header: text, headersSent } = reply
  if (headersSent) {
    const lines = String(text).split('\r\n')
    const kept = lines.filter(line => !validators.includes(nameOf(line)))
    reply._header = kept
      .map(line => (nameOf(line) === 'content-length' ? line.replace(/\d+$/, String(length)) : line))
      .join('\r\n')
    return
  }
  for (const name of validators) reply.removeHeader(name)
  if (reply.hasHeader('content-length')) reply.setHeader('content-length', length)
}

function nameOf(line: string): string {
  return line.slice(0, Math.max(line.indexOf(':'), 0)).toLowerCase()
}
