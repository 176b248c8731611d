import { currentRequest, defineController, routeParameter } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { findLatest } from '../../insight/latest.ts'
import { parseListRequest, searchList } from '../../insight/list-request.ts'
import { home, listLink, recordLink, routesLink } from '../../profile/links.ts'
import { PROFILER_FILE_CLOSED } from './errors.ts'
import { negotiate } from './form.ts'
import { type PageRoute, type PageServices, protect } from './page-services.ts'

/** Creates what only reads records: the list, and the pages of one or two of them. Their code is loaded with the first use. */
export function createReadingRoutes(services: PageServices): PageRoute[] {
  const token = routeParameter('record')
  return [
    {
      name: '_profiler_home',
      path: home,
      controller: defineController('profiler_home', [], () => goTo(listLink({ limit: '10' }))),
    },
    {
      name: '_profiler_search',
      path: `${home}search`,
      controller: defineController('profiler_search', [currentRequest], request => search(request, services)),
    },
    {
      name: '_profiler_latest',
      path: `${home}latest`,
      controller: defineController('profiler_latest', [currentRequest], request =>
        negotiate(request, async form => {
          if (form === 'html') return renderLatest(request, services)
          const { renderLatestData } = await import('./data-routes.ts')
          return renderLatestData(form, request, services)
        }),
      ),
    },
    {
      name: '_profiler_routes',
      path: routesLink(),
      controller: defineController('profiler_routes', [currentRequest], request =>
        negotiate(request, async form => {
          const { renderRoutes } = await import('./routes-page.ts')
          return renderRoutes(form, request, services)
        }),
      ),
    },
    {
      name: '_profiler_compare',
      path: `${home}compare`,
      controller: defineController('profiler_compare', [currentRequest], async request => {
        const { renderCompare } = await import('./compare-page.ts')
        return renderCompare(request, services)
      }),
    },
    {
      name: '_profiler_replay_form',
      path: `${home}:record/replay`,
      controller: defineController('profiler_replay_form', [token, currentRequest], async (token, request) => {
        const { renderReplay } = await import('./replay-page.ts')
        return renderReplay(token, request, services)
      }),
    },
    {
      // Sources are shown where they were thrown from; no file is ever opened for a request.
      name: '_profiler_open_file',
      path: `${home}open`,
      controller: defineController('profiler_open_file', [currentRequest], ({ query }) => {
        throw new PROFILER_FILE_CLOSED([query.get('file') ?? ''])
      }),
    },
    {
      name: '_profiler_search_results',
      path: `${home}:record/search/results`,
      controller: defineController('profiler_search_results', [currentRequest], request =>
        negotiate(request, async form => {
          if (form === 'html') return (await import('./list-page.ts')).renderList(request, services)
          return (await import('./data-routes.ts')).renderListData(form, request, services)
        }),
      ),
    },
    {
      // The name and the parameter are Symfony's.
      name: '_profiler',
      path: `${home}:record`,
      controller: defineController('profiler', [token, currentRequest], (token, request) =>
        negotiate(request, async form => {
          if (form === 'html') return renderRecord(token, request, services)
          const { renderRecordData } = await import('./data-routes.ts')
          return renderRecordData(token, form, request, services)
        }),
      ),
    },
  ]
}

async function renderRecord(token: string, request: Request, services: PageServices): Promise<Response> {
  const { renderRecord } = await import('./profile-page.ts')
  return renderRecord(token, request, services)
}

async function renderMissing(token: string | undefined, request: Request, services: PageServices): Promise<Response> {
  const { renderMissing } = await import('./missing-page.ts')
  return renderMissing(token, request, services)
}

async function renderLatest(request: Request, services: PageServices): Promise<Response> {
  const latest = await findLatest(services.storage)
  if (latest === undefined) return renderMissing(undefined, request, services)
  return renderRecord(latest.token, request, services)
}

/** Sends on to a record when its token is asked for, else to the list, whose address names what was found first. */
async function search(request: Request, services: PageServices): Promise<Response> {
  const token = request.query.get('token')?.trim()
  if (token) return /^\w+$/.test(token) ? goTo(recordLink(token)) : renderMissing(token, request, services)
  const wanted = parseListRequest(request.query)
  const { summaries } = await searchList(services.storage, {
    ...wanted,
    query: { ...wanted.query, offset: 0, limit: 1 },
  })
  const [first] = summaries
  const { order, page, pinned, route, sort, type = 'request', ...filters } = wanted.parameters
  const ours = Object.entries({ route, pinned, sort, order, page }).filter(([, value]) => value !== undefined)
  return goTo(listLink({ ...filters, type, ...Object.fromEntries(ours) }, first?.token))
}

function goTo(location: string): Response {
  return protect(Response.redirect(location))
}
