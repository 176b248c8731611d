import type { Application } from '../../kernel/bundle.ts'
import { ConfigCollector } from './collectors/config.ts'
import { createCpuCollector } from './collectors/cpu.ts'
import { createEventsCollector } from './collectors/events.ts'
import { ExceptionCollector } from './collectors/exception.ts'
import { createHttpCollector } from './collectors/http.ts'
import { createLoggerCollector } from './collectors/logger.ts'
import { RequestCollector } from './collectors/request.ts'
import { ResponseCollector } from './collectors/response.ts'
import { RouterCollector } from './collectors/router.ts'
import { ServerCollector } from './collectors/server.ts'
import { SessionCollector } from './collectors/session.ts'
import { createTemplatesCollector } from './collectors/templates.ts'
import { createTimeCollector } from './collectors/time.ts'
import type { ListenerSites } from './recording/listener-sites.ts'
import type { ProfileCollector } from './recording/profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors(app: Application, sites: ListenerSites): ProfileCollector[] {
  const { debugGate, directory, dispatcher, redactor } = app
  return [
    // First: what the others do is not the request's.
    createCpuCollector(directory, redactor),
    new RequestCollector(redactor, debugGate),
    new ResponseCollector(redactor),
    new SessionCollector(redactor, directory),
    createEventsCollector(dispatcher, listener => sites.find(listener, directory)),
    createTimeCollector(redactor),
    createLoggerCollector(),
    new ExceptionCollector(app),
    new RouterCollector(app),
    createTemplatesCollector(redactor),
    createHttpCollector(redactor, directory),
    new ServerCollector(app, process),
    new ConfigCollector(app),
  ]
}
