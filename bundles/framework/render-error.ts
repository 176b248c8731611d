import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { View } from '../../lib/view/view.ts'
import type { ErrorReport, ReportedException } from './error-report.ts'

/** Renders an error as a page: that of production, with the details as text if the client may see them. */
export function renderErrorHtml(report: ErrorReport, view: View, request: Request): Response | Promise<Response> {
  const { details, locale, status, statusText } = report
  const title =
    details === undefined ? `An Error Occurred: ${statusText}` : `${details.message} (${status} ${statusText})`
  const text = details === undefined ? '' : toErrorText(report)
  // A question about a mistake of the server is about this request. Other errors explain themselves.
  const requestId = status >= 500 ? request.id : ''
  const model = { title, status, statusText, locale, requestId, report: text }
  return Response.html(view.render('framework/error', model, request))
}

/** Renders an error as plain text. */
export function renderErrorText(report: ErrorReport): Response {
  return Response.text(toErrorText(report))
}

/** Renders an error as Markdown. */
export function renderErrorMarkdown(report: ErrorReport): Response {
  return Response.text(toErrorText(report), { headers: { 'content-type': 'text/markdown; charset=UTF-8' } })
}

/** Describes an error as Markdown that is also readable in a terminal. */
function toErrorText({ status, statusText, publicMessage, details }: ErrorReport): string {
  const parts = [`# ${status} ${statusText}`]
  if (details === undefined) {
    if (publicMessage) parts.push(publicMessage)
  } else {
    parts.push(`${details.method} ${details.url}`, ...details.exceptions.map(describe))
  }
  return `${parts.join('\n\n')}\n`
}

function describe({ name, message, properties = {}, frames }: ReportedException, index: number): string {
  const heading = index === 0 ? `## ${name}` : `## Caused by ${name}`
  const calls = frames.map(({ call, location }) => `- ${call} (${location})`).join('\n')
  const facts = Object.entries(properties).map(([name, value]) => `- ${name}: ${toLine(value)}`)
  return [heading, message, facts.join('\n'), calls].filter(part => part !== '').join('\n\n')
}

function toLine(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Renders an error as problem details (RFC 9457). */
export function renderErrorProblem({ status, statusText, publicMessage, members, details }: ErrorReport): Response {
  const problem = {
    type: 'about:blank',
    title: statusText,
    status,
    detail: details?.message ?? publicMessage ?? statusText,
    ...members,
    ...(details !== undefined && { exceptions: details.exceptions }),
  }
  return Response.json(problem, { headers: { 'content-type': 'application/problem+json' } })
}
