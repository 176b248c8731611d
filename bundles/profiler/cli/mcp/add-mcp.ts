import type { Controller } from '../../../../kernel/controller.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import type { ProfilerApplication } from '../../web/profiler-application.ts'
import { createMcpRoute } from './create-mcp-route.ts'
import { loadSdk } from './load-sdk.ts'

/** Adds the two ways for agents to read records (MCP): a command, and a route whose controller it gives. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy' | 'cpu'>): Controller {
  const services = { ...app, loadSdk, logger: app.logger.channel('profiler') }
  const load = async (replayer?: Replayer) => {
    const [{ createTools }, panels, inspector] = await Promise.all([
      import('./create-tools.ts'),
      app.panels(),
      app.inspector(),
    ])
    const { profiler, storage } = app
    return createTools({ inspector, profiler, storage, replayer, panels: () => panels })
  }
  // A command runs the code that was there when the agent began: only a server can tell what a change has done.
  app.commands.push(async () => {
    const { createMcpCommand } = await import('./create-mcp-command.ts')
    return [createMcpCommand({ ...services, tools: () => load() })]
  })
  const tools = () => load(app.config.isMcpReplayOn ? app.replayer : undefined)
  const route = createMcpRoute({ ...services, tools, isOn: app.config.isMcpOn })
  app.routes.add(route)
  return route.controller
}
