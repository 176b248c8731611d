import { Response } from '../../lib/http/response.ts'
import type { ErrorReport, ReportedException } from './error-report.ts'

/** Shows an error as plain text. */
export function renderErrorText(report: ErrorReport): Response {
  return Response.text(toErrorText(report))
}

/** Shows an error as Markdown. */
export function renderErrorMarkdown(report: ErrorReport): Response {
  return Response.text(toErrorText(report), { headers: { 'content-type': 'text/markdown; charset=UTF-8' } })
}

/** Describes an error in text that reads well in a terminal, and is Markdown too. */
export function toErrorText({ status, statusText, publicMessage, details }: ErrorReport): string {
  const parts = [`# ${status} ${statusText}`]
  if (details === undefined) {
    if (publicMessage) parts.push(publicMessage)
  } else {
    parts.push(`${details.method} ${details.url}`, ...details.exceptions.map(describe))
  }
  return `${parts.join('\n\n')}\n`
}

function describe({ name, message, frames }: ReportedException, index: number): string {
  const heading = index === 0 ? `## ${name}` : `## Caused by ${name}`
  const calls = frames.map(({ call, location }) => `- ${call} (${location})`).join('\n')
  return [heading, message, calls].filter(part => part !== '').join('\n\n')
}
