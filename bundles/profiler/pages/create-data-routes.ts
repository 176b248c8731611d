import { currentRequest, defineController, routeParameter } from '../../../kernel/controller.ts'
import { dataForms, home } from '../links.ts'
import type { PageRoute } from './page-route.ts'
import type { PageServices } from './page-services.ts'

/** Creates the stable addresses of what the pages show, as JSON and as Markdown. Their code is loaded with the first use. */
export function createDataRoutes(services: PageServices): PageRoute[] {
  const form = routeParameter('form', {
    expected: dataForms.join(' or '),
    convert: text => dataForms.find(form => form === text),
  })
  // With another ending it is a token that is not known.
  const requirements = { form: dataForms.join('|') }
  return [
    {
      name: '_profiler_search_data',
      path: `${home}search.:form`,
      requirements,
      controller: defineController('profiler_search_data', [form, currentRequest], async (form, request) => {
        const { renderListData } = await import('./render-data.ts')
        return renderListData(form, request, services)
      }),
    },
    {
      name: '_profiler_latest_data',
      path: `${home}latest.:form`,
      requirements,
      controller: defineController('profiler_latest_data', [form, currentRequest], async (form, request) => {
        const { renderLatestData } = await import('./render-data.ts')
        return renderLatestData(form, request, services)
      }),
    },
    {
      name: '_profiler_routes_data',
      path: `${home}routes.:form`,
      requirements,
      controller: defineController('profiler_routes_data', [form, currentRequest], async (form, request) => {
        const { renderRoutes } = await import('./render-routes.ts')
        return renderRoutes(form, request, services)
      }),
    },
    {
      name: '_profiler_data',
      path: `${home}:record.:form`,
      requirements,
      controller: defineController(
        'profiler_data',
        [routeParameter('record'), form, currentRequest],
        async (token, form, request) => {
          const { renderRecordData } = await import('./render-data.ts')
          return renderRecordData(token, form, request, services)
        },
      ),
    },
  ]
}
