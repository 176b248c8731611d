import type { Application } from '../../kernel/bundle.ts'
import { createHttpCollector } from './collectors/http.ts'
import { createTemplatesCollector } from './collectors/templates.ts'
import type { ProfileCollector } from './profile-collector.ts'

/** Creates the profiler's own collectors, in the order in which they are asked. */
export function createCollectors({ redactor }: Application): ProfileCollector[] {
  return [createTemplatesCollector(redactor), createHttpCollector(redactor)]
}
