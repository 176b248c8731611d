import { currentRequest, defineController, routeParameter } from '../../../kernel/controller.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Assets } from '../assets.ts'
import { home } from '../links.ts'
import { PROFILER_ASSET_UNKNOWN } from './errors.ts'
import type { LiveStreams } from './live-streams.ts'
import type { PageRoute } from './page-route.ts'
import { parseListRequest } from './parse-list-request.ts'
import { protect } from './protect.ts'

/** For ever, as the name changes with the content; not in caches that others use. */
const assetCaching = 'private, max-age=31536000, immutable'

/** Whatever compresses waits for more than one event. */
const liveCaching = 'no-store, no-transform'

/** Creates what pages need beside records, and what nobody has to wait for: their files, and the news of new records. */
export function createSupplyRoutes(assets: Assets, live: LiveStreams): PageRoute[] {
  return [
    {
      name: '_profiler_asset',
      path: `${home}assets/:version/:file`,
      controller: defineController(
        'profiler_asset',
        [routeParameter('version'), routeParameter('file')],
        (version, name) => {
          const asset = assets.find(version, name)
          if (asset === undefined) throw new PROFILER_ASSET_UNKNOWN([name])
          const headers = { 'content-type': asset.type, 'cache-control': assetCaching }
          return protect(new Response(asset.content, { headers }))
        },
      ),
    },
    {
      name: '_profiler_live',
      path: `${home}live`,
      controller: defineController('profiler_live', [currentRequest], ({ query }) => {
        const headers = { 'content-type': 'text/event-stream; charset=UTF-8', 'cache-control': liveCaching }
        return protect(Response.stream(live.create(parseListRequest(query).query.filters), { headers }))
      }),
    },
  ]
}
