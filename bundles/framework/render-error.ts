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
  const model = { title, advice: advise(status), status, statusText, locale, requestId, report: text }
  return Response.html(view.render('framework/error', model, request))
}

/** The sentence for visitors about each status. */
const advices: ReadonlyMap<number, string> = new Map([
  [401, 'You have to log in to see this page.'],
  [403, 'You may not see this page.'],
  [404, 'There is no page at this address. Please check it for typing mistakes.'],
  [410, 'This page was removed.'],
  [413, 'The request has too much data.'],
  [429, 'There were too many requests. Please wait a moment, then try again.'],
  [503, 'The website is busy at the moment, or under maintenance. Please try again in a few minutes.'],
])

function advise(status: number): string {
  const other =
    status < 500
      ? 'The request cannot be answered. Please go back and check what you have sent.'
      : 'Something went wrong on the server. Please try again. If the problem remains, contact the operator of this website.'
  return advices.get(status) ?? other
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
