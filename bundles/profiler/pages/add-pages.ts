import type { Application } from '../../../kernel/bundle.ts'
import type { Controller } from '../../../kernel/controller.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Assets } from '../assets.ts'
import type { CpuProfiler } from '../cpu/cpu-profiler.ts'
import { FindingBadges } from '../findings/finding-badges.ts'
import type { Profiler } from '../recording/profiler.ts'
import type { RecordingPolicy } from '../recording/recording-policy.ts'
import type { Replayer } from '../replay/replayer.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createToolbarRoute } from '../toolbar/create-toolbar-route.ts'
import { acceptsFetch } from './accepts-fetch.ts'
import { createArmRoutes, createCpuRoute } from './create-cpu-routes.ts'
import { createDataRoutes } from './create-data-routes.ts'
import { createExportRoutes } from './create-export-routes.ts'
import { createReadingRoutes } from './create-reading-routes.ts'
import { createSupplyRoutes } from './create-supply-routes.ts'
import { createWritingRoutes } from './create-writing-routes.ts'
import { LiveStreams } from './live-streams.ts'
import { PageRenderer } from './page-renderer.ts'
import type { PageRoute } from './page-route.ts'
import type { PageServices } from './page-services.ts'

/** What the profiler itself adds to what a bundle may use. */
export interface ProfilerApplication extends Application {
  readonly profiler: Profiler
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly assets: Assets
  readonly inspector: PageServices['inspector']
  readonly replayer: Replayer
  readonly cpu: CpuProfiler
  readonly panels: PageServices['panels']
}

/**
 * Adds the profiler's pages, below `/_profiler/`, and gives their controllers. Whom the gate of debug output does not let
 * in, and other sites, get the router's own 404: for them these routes are not there.
 */
export function addPages(app: ProfilerApplication): readonly Controller[] {
  const { assets, debugGate, inspector, routes, view } = app
  const services: PageServices = {
    ...app,
    badges: new FindingBadges({ ...app, inspector }),
    logger: app.logger.channel('profiler'),
    pages: new PageRenderer(view, assets),
  }
  view.addHelper('fragment', ({ positional: [fragment] }) => fragment)

  const condition = (request: Request) => acceptsFetch(request) && debugGate.allows(request)
  const add = (method: 'GET' | 'POST', page: PageRoute): Controller => {
    // The application's own lines would drown among these.
    routes.add({ ...page, methods: [method], condition, defaults: { _log: false } })
    return page.controller
  }
  const settled = (page: PageRoute) => ({ ...page, controller: whenIdle(app.profiler, page.controller) })
  return [
    ...createWritingRoutes(services, app.replayer).map(page => add('POST', settled(page))),
    ...createArmRoutes({ ...app, ...services }).map(page => add('POST', page)),
    add('GET', settled(createCpuRoute({ ...app, ...services }))),
    ...createSupplyRoutes(assets, new LiveStreams(app)).map(page => add('GET', page)),
    add('GET', settled(createToolbarRoute(services))),
    ...createDataRoutes(services).map(page => add('GET', settled(page))),
    ...createExportRoutes(services, assets).map(page => add('GET', settled(page))),
    ...createReadingRoutes(services).map(page => add('GET', settled(page))),
  ]
}

/** Whoever looks sees what has just ended: it is kept first. */
function whenIdle(profiler: Profiler, controller: Controller): Controller {
  return {
    ...controller,
    async call(...values) {
      await profiler.whenIdle()
      return controller.call(...values)
    },
  }
}
