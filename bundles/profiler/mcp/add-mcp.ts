import type { Controller } from '../../../kernel/controller/controller.ts'
import type { ProfilerApplication } from '../pages/add-pages.ts'
import { createMcpCommand } from './create-mcp-command.ts'
import { createMcpRoute } from './create-mcp-route.ts'
import { loadSdk } from './load-sdk.ts'

/** Adds the two ways for agents to read records (MCP): a command, and a route whose controller it gives. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy'>): Controller {
  const services = {
    ...app,
    loadSdk,
    logger: app.logger.channel('profiler'),
    async tools() {
      const [{ createTools }, panels] = await Promise.all([import('./create-tools.ts'), app.panels()])
      return createTools({ ...app, panels: () => panels })
    },
  }
  app.commands.push(createMcpCommand(services))
  const route = createMcpRoute({ ...services, isOn: app.config.isMcpOn })
  app.routes.add(route)
  return route.controller
}
