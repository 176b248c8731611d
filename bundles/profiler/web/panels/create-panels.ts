import type { Application } from '../../../../kernel/bundle.ts'
import type { Inspector } from '../../insight/findings/inspector.ts'
import { createEditorLinks } from '../editor-links.ts'
import { createBrowserPanel } from './browser.ts'
import { configPanel } from './config.ts'
import { createConsolePanel } from './console.ts'
import { createCpuPanel } from './cpu.ts'
import { createEventsPanel } from './events.ts'
import { createExceptionPanel } from './exception.ts'
import { createFindingsPanel } from './findings.ts'
import { createHttpPanel } from './http.ts'
import { createLoggerPanel } from './logger.ts'
import { memoryPanel } from './memory.ts'
import { createOverviewPanel } from './overview.ts'
import type { ProfilePanel } from './panel.ts'
import { createQueryPanels } from './queries/queries.ts'
import { createRequestPanel } from './request.ts'
import { createRouterPanel } from './router.ts'
import { createTemplatesPanel } from './templates.ts'
import { createTimePanel } from './time.ts'
import { validationPanel } from './validation.ts'

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
