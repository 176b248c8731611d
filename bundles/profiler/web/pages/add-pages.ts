import type { Application } from '../../../../kernel/bundle.ts'
import type { Controller } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { FindingBadges } from '../../insight/findings/finding-badges.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import type { CpuProfiler } from '../../record/cpu/cpu-profiler.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { Assets } from '../assets.ts'
import { createToolbarRoute } from '../toolbar/toolbar-view.ts'
import { createArmRoutes, createCpuRoute } from './cpu-routes.ts'
import { createDataRoutes, createExportRoutes } from './data-routes.ts'
import { acceptsFetch } from './own-requests.ts'
import { PageRenderer, type PageRoute, type PageServices } from './page-services.ts'
import { createReadingRoutes } from './reading-routes.ts'
import { createSupplyRoutes, LiveStreams } from './supply-routes.ts'
import { createWritingRoutes } from './writing-routes.ts'

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
