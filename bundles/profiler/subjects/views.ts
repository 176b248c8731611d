import type { Application } from '../../../kernel/bundle.ts'
import { findingsSection, overviewSection } from '../export/conclusions.ts'
import type { Section } from '../export/markdown-text.ts'
import type { Inspector } from '../insight/findings/inspector.ts'
import type { Overview } from '../insight/overview/overview.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import type { SummaryView } from '../insight/summary-view.ts'
import { createEditorLinks, type EditorLinks } from '../web/editor-links.ts'
import { createFindingsPanel, toFindingItem } from '../web/panels/findings.ts'
import { createOverviewPanel, toEditItem } from '../web/panels/overview.ts'
import type { ProfilePanel } from '../web/panels/panel.ts'
import { createTimePanel, timeSection, toSubRequestItem, toTimeItem } from '../web/panels/time.ts'
import type { ToolbarItem } from '../web/toolbar/toolbar-items.ts'
import { browserSection, createBrowserPanel } from './browser/show.ts'
import { configPanel } from './config/show.ts'
import { consoleSection, createConsolePanel, toConsoleItem } from './console/show.ts'
import { cpuSection, createCpuPanel } from './cpu/show.ts'
import { createEventsPanel, eventsSection } from './events/show.ts'
import { createExceptionPanel, exceptionSection, toExceptionItem } from './exception/show.ts'
import { createRequestPanel, exchangeSection, toRedirectItem, toResponseItem } from './exchange/show.ts'
import { callsSection, createHttpPanel, toCallItem } from './http/show.ts'
import { createLoggerPanel, logsSection, toLogItem } from './logs/show.ts'
import { memoryPanel, memorySection, toMemoryItem } from './memory/show.ts'
import { createQueryPanels } from './queries/show.ts'
import { cacheSection, databaseSection, toCacheItem, toDatabaseItem } from './queries/show-parts.ts'
import { createRouterPanel, routingSection } from './router/show.ts'
import { createTemplatesPanel, templatesSection, toTemplateItem } from './templates/show.ts'
import { toValidationItem, validationPanel, validationSection } from './validation/show.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels(app: Application, inspector: Inspector): ProfilePanel[] {
  const editor = createEditorLinks(app)
  const labelOf = (name: string) => panels.find(panel => panel.name === name)?.label
  const panels: ProfilePanel[] = [
    createOverviewPanel(editor, labelOf),
    createRequestPanel(editor),
    createTimePanel(editor),
    createExceptionPanel(editor),
    createFindingsPanel(inspector, labelOf, editor),
    validationPanel,
    ...createQueryPanels(app.view, editor),
    createLoggerPanel(editor),
    createConsolePanel(editor),
    createBrowserPanel(app.files, editor),
    createEventsPanel(editor),
    createRouterPanel({ ...app, editor }),
    createTemplatesPanel(app, editor),
    memoryPanel,
    createCpuPanel(editor),
    createHttpPanel(editor),
    configPanel,
  ]
  return panels
}

type ItemMaker = (
  shown: ShownProfile,
  summary: SummaryView,
  overview: Overview,
  editor: EditorLinks,
) => ToolbarItem | undefined

/** In the order of the bar. */
export const itemMakers: readonly ItemMaker[] = [
  toResponseItem,
  toExceptionItem,
  toRedirectItem,
  toLogItem,
  toConsoleItem,
  toValidationItem,
  toEditItem,
  toFindingItem,
  toTimeItem,
  toDatabaseItem,
  toCacheItem,
  toTemplateItem,
  toCallItem,
  toSubRequestItem,
  toMemoryItem,
]

/** The sections in their order: the overview and the exception come first. */
export const sections: readonly Section[] = [
  overviewSection,
  exceptionSection,
  findingsSection,
  exchangeSection,
  validationSection,
  databaseSection,
  cacheSection,
  logsSection,
  browserSection,
  consoleSection,
  eventsSection,
  routingSection,
  templatesSection,
  callsSection,
  timeSection,
  memorySection,
  cpuSection,
]
