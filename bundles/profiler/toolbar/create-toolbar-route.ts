import { currentRequest, defineController, routeParameter } from '../../../kernel/controller.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { findRelatives } from '../pages/find-relatives.ts'
import type { PageRoute } from '../pages/page-route.ts'
import type { PageServices } from '../pages/page-services.ts'
import { protect } from '../pages/protect.ts'

/** Creates the route of what toolbars show. Where there is no record, the answer is an empty 404, as Symfony's is. */
export function createToolbarRoute(services: PageServices): PageRoute {
  return {
    name: '_wdt',
    path: '/_wdt/:record',
    controller: defineController('profiler_toolbar', [routeParameter('record'), currentRequest], (token, request) =>
      renderToolbar(token, request, services),
    ),
  }
}

async function renderToolbar(
  token: string,
  request: Request,
  { inspector, profiler, storage, view }: PageServices,
): Promise<Response> {
  // The page is there before its profile is made.
  await profiler.whenKept(token)
  const found = await storage.find(token)
  if (found === undefined) return protect(new Response(null, { status: 404 }))
  const { children } = await findRelatives(storage, found.profile)
  const findings = (await inspector()).inspect(found.profile)
  const { toToolbarView } = await import('./to-toolbar-view.ts')
  const html = await view.render('profiler/toolbar', toToolbarView({ ...found, children, findings }), request)
  return protect(Response.html(html))
}
