import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { DataForm } from '../links.ts'
import { routesDataLink } from '../links.ts'
import { routesToJson } from '../renderings/routes-to-json.ts'
import { routesToMarkdown } from '../renderings/routes-to-markdown.ts'
import { respondData } from './form.ts'
import { gatherRoutes } from './gather-routes.ts'
import type { PageServices } from './page-services.ts'
import { parseRoutesRequest } from './parse-routes-request.ts'
import { toRoutesView } from './to-routes-view.ts'

/** When this process began, in milliseconds since 1970: what is older was recorded by other code, perhaps. */
const startedAt = Math.floor(performance.timeOrigin)

/** Renders how the requests of each route went: as a page, or as data. */
export async function renderRoutes(
  form: 'html' | DataForm,
  request: Request,
  { pages, storage }: PageServices,
): Promise<Response> {
  const wanted = parseRoutesRequest(request.query)
  const report = await gatherRoutes(storage, wanted, startedAt)
  if (form !== 'html') {
    const routes = routesToJson(report, wanted)
    return respondData(form, routes, () => routesToMarkdown(routes))
  }
  const alternates = [
    { type: 'application/json', link: routesDataLink('json', wanted.parameters) },
    { type: 'text/markdown', link: routesDataLink('md', wanted.parameters) },
  ]
  return pages.render('profiler/route-statistics', { ...toRoutesView(report, wanted), alternates }, request)
}
