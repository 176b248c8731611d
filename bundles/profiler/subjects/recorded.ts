import type { Application } from '../../../kernel/bundle.ts'
import type { ProfileCollector } from '../record/collect.ts'
import type { CollectorServices, RecordedSubject } from '../record/recorded-subject.ts'
import { configSubject } from './config/record.ts'
import { consoleSubject } from './console/record.ts'
import { cpuSubject } from './cpu/record.ts'
import { eventsSubject } from './events/record.ts'
import { exceptionSubject } from './exception/record.ts'
import { exchangeSubject } from './exchange/record.ts'
import { httpSubject } from './http/record.ts'
import { logsSubject } from './logs/record.ts'
import { memorySubject } from './memory/record.ts'
import { queriesSubject } from './queries/record.ts'
import { routerSubject } from './router/record.ts'
import { templatesSubject } from './templates/record.ts'
import { createLateCollector, timeSubject } from './time/record.ts'
import { validationSubject } from './validation/record.ts'

/** The subjects that requests record, in the order in which their collectors run. */
export const recordedSubjects: readonly RecordedSubject[] = [
  // First: the usage of the request does not include the work of the other collectors.
  memorySubject,
  cpuSubject,
  exchangeSubject,
  eventsSubject,
  timeSubject,
  logsSubject,
  consoleSubject,
  exceptionSubject,
  routerSubject,
  templatesSubject,
  queriesSubject,
  httpSubject,
  validationSubject,
  configSubject,
]

/** Creates the profiler's own collectors, in the order in which they run. */
export function createCollectors(app: Application, services: CollectorServices): ProfileCollector[] {
  const collectors = recordedSubjects.flatMap(subject => subject.createCollectors(app, services))
  return [...collectors, createLateCollector(collectors)]
}
