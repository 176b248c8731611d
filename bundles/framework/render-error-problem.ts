import { Response } from '../../lib/http/response.ts'
import type { ErrorReport } from './error-report.ts'

/** Shows an error as problem details (RFC 9457). */
export function renderErrorProblem({ status, statusText, publicMessage, details }: ErrorReport): Response {
  const problem = {
    type: 'about:blank',
    title: statusText,
    status,
    detail: details?.message ?? publicMessage ?? statusText,
    ...(details !== undefined && { exceptions: details.exceptions }),
  }
  return Response.json(problem, { headers: { 'content-type': 'application/problem+json' } })
}
