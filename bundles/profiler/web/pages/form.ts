import { preferredMediaType } from '../../../../lib/http/negotiation.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { toSpan } from '../../export/markdown-text.ts'
import type { DataForm } from '../../profile/links.ts'
import { protect } from './page-services.ts'

/** The first is for those who do not say what they prefer. */
const forms = { 'text/html': 'html', 'application/json': 'json', 'text/markdown': 'md' } as const

const mediaTypes = ['text/html', 'application/json', 'text/markdown'] as const

/** Answers in the form that the client prefers: a page, unless it asks for data. */
export async function negotiate(
  { headers }: Request,
  answer: (form: 'html' | DataForm) => Promise<Response>,
): Promise<Response> {
  const response = await answer(forms[preferredMediaType(headers, mediaTypes) ?? 'text/html'])
  response.headers.set('vary', 'Accept')
  return response
}

/** Answers with data. */
export function respondData(form: DataForm, json: unknown, markdown: () => string): Response {
  return form === 'json' ? protect(Response.json(json)) : respondMarkdown(markdown(), 200)
}

/** Answers that there is no record of a token. */
export function respondUnknown(form: DataForm, token: string): Response {
  return respondMissing(form, 'There is no such record; it has expired, was deleted, or never existed:', token)
}

/** Answers that something is not there: as problem details (RFC 9457), or as text. */
export function respondMissing(form: DataForm, reason: string, subject = ''): Response {
  if (form === 'md') return respondMarkdown(`# 404 Not Found\n\n${reason}${subject && ` ${toSpan(subject)}`}\n`, 404)
  const problem = {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: `${reason}${subject && ` ${subject}`}`,
  }
  const headers = { 'content-type': 'application/problem+json' }
  return protect(Response.json(problem, { status: 404, headers }))
}

function respondMarkdown(text: string, status: number): Response {
  return protect(new Response(text, { status, headers: { 'content-type': 'text/markdown; charset=UTF-8' } }))
}
