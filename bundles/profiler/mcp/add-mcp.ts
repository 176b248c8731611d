import type { Controller } from '../../../kernel/controller/controller.ts'
import { createPanels } from '../create-panels.ts'
import { Inspector } from '../findings/inspector.ts'
import type { ProfilerApplication } from '../pages/add-pages.ts'
import { createPanelList } from '../pages/create-panel-list.ts'
import { createMcpCommand } from './create-mcp-command.ts'
import { createMcpRoute } from './create-mcp-route.ts'
import { createTools } from './create-tools.ts'
import { loadSdk } from './load-sdk.ts'

/** Adds the two ways for agents to read records (MCP): a command, and a route whose controller it gives. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy' | 'cpu'>): Controller {
  const { config, profiler, storage } = app
  const panels = createPanels(app)
  const inspector = new Inspector(app.findingRules)
  const toolServices = { inspector, profiler, storage, panels: () => createPanelList(panels, app.collectors) }
  const services = { ...app, loadSdk, logger: app.logger.channel('profiler') }
  // A command runs the code that was there when the agent began: only a server can tell what a change has done.
  app.commands.push(createMcpCommand({ ...services, tools: () => createTools(toolServices) }))
  const replayer = config.isMcpReplayOn ? app.replayer : undefined
  const tools = () => createTools({ ...toolServices, replayer })
  const route = createMcpRoute({ ...services, tools, isOn: config.isMcpOn })
  app.routes.add(route)
  return route.controller
}
