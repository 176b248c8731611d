import type { Application } from '../../../../kernel/bundle.ts'
import type { ProfileCollector } from '../collect.ts'
import { ContentCopier } from '../content.ts'
import type { ListenerSites } from '../listener-sites.ts'
import { ExceptionCollector } from './exception.ts'
import { ConfigCollector, memoryCollector, ServerCollector } from './process.ts'
import { createQueriesCollector } from './queries.ts'
import { RequestCollector } from './request.ts'
import { ResponseCollector } from './response.ts'
import { RouterCollector } from './router.ts'
import { SessionCollector } from './session.ts'
import { createTimeCollector, lateCollector } from './time.ts'
import {
  consoleCollector,
  createCpuCollector,
  createEventsCollector,
  createHttpCollector,
  createLoggerCollector,
  createTemplatesCollector,
  validationCollector,
} from './traces.ts'

/** Creates the profiler's own collectors, in the order in which they run. */
export function createCollectors(app: Application, sites: ListenerSites): ProfileCollector[] {
  const { debugGate, directory, dispatcher, redactor } = app
  const contents = new ContentCopier(redactor)
  return [
    // First: the usage of the request does not include the work of the other collectors.
    memoryCollector,
    createCpuCollector(app),
    new RequestCollector(redactor, debugGate),
    new ResponseCollector(redactor, contents),
    new SessionCollector(redactor, directory),
    createEventsCollector(dispatcher, listener => sites.find(listener, directory)),
    createTimeCollector(redactor),
    createLoggerCollector(directory),
    consoleCollector,
    new ExceptionCollector(app),
    new RouterCollector(app),
    createTemplatesCollector(redactor),
    createHttpCollector(redactor, contents),
    createQueriesCollector(redactor),
    validationCollector,
    new ServerCollector(app, process),
    new ConfigCollector(app),
    lateCollector,
  ]
}
