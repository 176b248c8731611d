import type { Collector } from '../../../kernel/contracts/collectors.ts'
import { createCollectorView } from '../panels/collected.ts'
import { findingsView } from '../panels/findings.ts'
import { overviewView } from '../panels/overview.ts'
import type { SubjectView } from '../panels/subject-view.ts'
import { timeView } from '../panels/time.ts'
import { browserView } from './browser/show.ts'
import { configView } from './config/show.ts'
import { consoleView } from './console/show.ts'
import { cpuView } from './cpu/show.ts'
import { eventsView } from './events/show.ts'
import { exceptionView } from './exception/show.ts'
import { exchangeView } from './exchange/show.ts'
import { graphqlView } from './graphql/show.ts'
import { callsView } from './http/show.ts'
import { logsView } from './logs/show.ts'
import { mailsView } from './mails/show.ts'
import { memoryView } from './memory/show.ts'
import { cacheView, databaseView } from './queries/show.ts'
import { routerView } from './router/show.ts'
import { templatesView } from './templates/show.ts'
import { unitView } from './unit/show.ts'
import { validationView } from './validation/show.ts'

/** What is shown of each subject, in the order of the menu, which shows the first nine. */
export const subjectViews: readonly SubjectView[] = [
  overviewView,
  exchangeView,
  unitView,
  timeView,
  exceptionView,
  findingsView,
  graphqlView,
  databaseView,
  logsView,
  eventsView,
  callsView,
  mailsView,
  cacheView,
  consoleView,
  validationView,
  routerView,
  templatesView,
  browserView,
  memoryView,
  cpuView,
  configView,
]

/**
 * Lists the profiler's own views, then those of the collectors of other bundles, which may be
 * added at any time. If two have the same name, the first one is used.
 */
export function listViews(collectors: readonly Collector[]): SubjectView[] {
  const byName = new Map<string, SubjectView>()
  for (const view of [...subjectViews, ...collectors.map(createCollectorView)]) {
    if (!byName.has(view.name)) byName.set(view.name, view)
  }
  return [...byName.values()]
}

/** Lists the stored parts that a view shows: by default the one with its name. */
export function partsOf(name: string): readonly string[] {
  return subjectViews.find(view => view.name === name)?.stored ?? [name]
}
