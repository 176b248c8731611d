import type { Application } from '../../kernel/bundle.ts'
import { EditorLinks } from './editor-links.ts'
import { Inspector } from './findings/inspector.ts'
import { configPanel } from './panels/config.ts'
import { createCpuPanel } from './panels/cpu.ts'
import { createEventsPanel } from './panels/events.ts'
import { createExceptionPanel } from './panels/exception.ts'
import { createFindingsPanel } from './panels/findings.ts'
import { createHttpPanel } from './panels/http.ts'
import { createLoggerPanel } from './panels/logger.ts'
import { memoryPanel } from './panels/memory.ts'
import type { ProfilePanel } from './panels/panel.ts'
import { requestPanel } from './panels/request.ts'
import { createRouterPanel } from './panels/router.ts'
import { templatesPanel } from './panels/templates.ts'
import { timePanel } from './panels/time.ts'

/** Creates the profiler's own panels, in the order of the menu. */
export function createPanels(app: Application): ProfilePanel[] {
  const editor = new EditorLinks({ ...app.config, directory: app.directory })
  const labelOf = (name: string) => panels.find(panel => panel.name === name)?.label
  const panels: ProfilePanel[] = [
    requestPanel,
    timePanel,
    createExceptionPanel(editor),
    createFindingsPanel(new Inspector(app.findingRules), labelOf),
    createLoggerPanel(),
    createEventsPanel(),
    createRouterPanel(app),
    templatesPanel,
    memoryPanel,
    createCpuPanel(editor),
    createHttpPanel(app.directory),
    configPanel,
  ]
  return panels
}
