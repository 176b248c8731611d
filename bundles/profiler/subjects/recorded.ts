import type { ProfileCollector } from '../record/collect.ts'
import type { CollectorServices, RecordedApplication, RecordedSubject } from '../record/recorded-subject.ts'
import { configSubject } from './config/record.ts'
import { consoleSubject } from './console/record.ts'
import { cpuSubject } from './cpu/record.ts'
import { eventsSubject } from './events/record.ts'
import { exceptionSubject } from './exception/record.ts'
import { exchangeSubject } from './exchange/record.ts'
import { graphqlSubject } from './graphql/record.ts'
import { httpSubject } from './http/record.ts'
import { logsSubject } from './logs/record.ts'
import { mailsSubject } from './mails/record.ts'
import { memorySubject } from './memory/record.ts'
import { queriesSubject } from './queries/record.ts'
import { routerSubject } from './router/record.ts'
import { createLateCollector, createWithinCollector, timeSubject } from './time/record.ts'
import { unitSubject } from './unit/record.ts'

/** The subjects that the requests of any server record, in the order in which their collectors run. */
export const serverSubjects: readonly RecordedSubject[] = [
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
  queriesSubject,
  httpSubject,
  mailsSubject,
  graphqlSubject,
  configSubject,
  unitSubject,
]

/** Creates the profiler's own collectors, in the order in which they run. */
export function createCollectors(
  subjects: readonly RecordedSubject[],
  app: RecordedApplication,
  services: CollectorServices,
): ProfileCollector[] {
  const collectors = subjects.flatMap(subject => subject.createCollectors(app, services))
  return [...collectors, createLateCollector(collectors), createWithinCollector()]
}
