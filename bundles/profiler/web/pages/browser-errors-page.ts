import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Profiler } from '../../record/profiler.ts'
import { parseReports } from '../../subjects/browser/data.ts'
import type { BrowserErrors } from '../../subjects/browser/record.ts'
import { protect } from '../respond.ts'

const statuses = { added: 204, unknown: 404, busy: 429 } as const

/**
 * Adds the errors that a page reports to its profile. The answer has no body. @throws BODY_TOO_LARGE (413)
 * BODY_JSON_INVALID (400) BODY_TYPE_UNSUPPORTED (415)
 */
export async function takeBrowserErrors(
  token: string,
  request: Request,
  errors: BrowserErrors,
  { profiler }: { readonly profiler: Pick<Profiler, 'whenWritten'> },
): Promise<Response> {
  const reports = parseReports(await request.json())
  // The page may report errors before its profile is stored.
  await profiler.whenWritten(token)
  return protect(new Response(null, { status: statuses[await errors.add(token, reports, request.origin)] }))
}
