import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import { createRows } from './create-rows.ts'
import type { PageServices } from './page-services.ts'

const latestLimit = 5

/** Renders the 404 page of a token that is not known, with the latest records to go on from; of any record without one. */
export async function renderMissing(
  token: string | undefined,
  request: Request,
  { pages, storage }: PageServices,
): Promise<Response> {
  const { summaries } = await storage.search({ limit: latestLimit })
  const title = token === undefined ? 'There are no profiles' : 'Token not found'
  return pages.render('profiler/missing', { title, token: token ?? '', rows: createRows(summaries) }, request, 404)
}
