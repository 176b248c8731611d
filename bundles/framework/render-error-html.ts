import { Response } from '../../lib/http/response.ts'
import type { View } from '../../lib/view/view.ts'
import type { ErrorReport } from './error-report.ts'
import { toErrorText } from './render-error-text.ts'

/** Shows an error as a page: the plain one of production; with the details as text, where they may be seen. */
export function renderErrorHtml(report: ErrorReport, view: View): Response | Promise<Response> {
  const { details, status, statusText } = report
  const title =
    details === undefined ? `An Error Occurred: ${statusText}` : `${details.message} (${status} ${statusText})`
  const text = details === undefined ? '' : toErrorText(report)
  const page = view.render('framework/error', { title, status, statusText, report: text })
  return typeof page === 'string' ? Response.html(page) : page.then(html => Response.html(html))
}
