import type { Controller } from '../../../kernel/controller/controller.ts'
import { createPanels } from '../create-panels.ts'
import type { ProfilerApplication } from '../pages/add-pages.ts'
import { createPanelList } from '../pages/create-panel-list.ts'
import { createMcpCommand } from './create-mcp-command.ts'
import { createMcpRoute } from './create-mcp-route.ts'
import { createTools } from './create-tools.ts'
import { loadSdk } from './load-sdk.ts'

/** Adds the two ways for agents to read records (MCP): a command, and a route whose controller it gives. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy'>): Controller {
  const panels = createPanels(app)
  const services = {
    ...app,
    loadSdk,
    logger: app.logger.channel('profiler'),
    tools: () => createTools({ ...app, panels: () => createPanelList(panels, app.collectors) }),
  }
  app.commands.push(createMcpCommand(services))
  const route = createMcpRoute({ ...services, isOn: app.config.isMcpOn })
  app.routes.add(route)
  return route.controller
}
