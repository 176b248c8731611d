import type { Application } from '../../kernel/bundle.ts'
import { ConfigCollector } from './collectors/config.ts'
import { RequestCollector } from './collectors/request.ts'
import { ResponseCollector } from './collectors/response.ts'
import { ServerCollector } from './collectors/server.ts'
import { SessionCollector } from './collectors/session.ts'
import type { ProfileCollector } from './profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors(app: Application): ProfileCollector[] {
  const { directory, redactor } = app
  return [
    new RequestCollector(redactor),
    new ResponseCollector(redactor),
    new SessionCollector(redactor, directory),
    new ServerCollector(app, process),
    new ConfigCollector(app),
  ]
}
