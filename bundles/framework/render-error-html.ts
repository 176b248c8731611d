import { Response } from '../../lib/http/response.ts'
import type { View } from '../../lib/view/view.ts'
import type { ErrorReport } from './error-report.ts'

/** Shows an error as a page: the plain one of production, or the details. */
export async function renderErrorHtml(report: ErrorReport, view: View): Promise<Response> {
  const { status, statusText, details } = report
  if (details === undefined) return Response.html(await view.render('framework/error', { status, statusText }))
  const model = {
    status,
    statusText,
    title: `${details.message} (${status} ${statusText})`,
    message: details.message,
    method: details.method,
    url: details.url,
    exceptions: details.exceptions.map((exception, index) => ({
      ...exception,
      number: index + 1,
      isFirst: index === 0,
    })),
  }
  return Response.html(await view.render('framework/debug-error', model))
}
