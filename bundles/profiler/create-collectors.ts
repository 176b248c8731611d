import type { Application } from '../../kernel/bundle.ts'
import { ExceptionCollector } from './collectors/exception.ts'
import { createHttpCollector } from './collectors/http.ts'
import { RouterCollector } from './collectors/router.ts'
import { createTemplatesCollector } from './collectors/templates.ts'
import type { ProfileCollector } from './profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors(app: Application): ProfileCollector[] {
  return [
    new ExceptionCollector(app),
    new RouterCollector(app),
    createTemplatesCollector(app.redactor),
    createHttpCollector(app.redactor),
  ]
}
