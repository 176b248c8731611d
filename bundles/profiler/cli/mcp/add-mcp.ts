import type { Controller } from '../../../../kernel/controller.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import type { ProfilerApplication } from '../../web/profiler-application.ts'
import { profilerSettings } from '../../web/settings.ts'
import { loadSdk } from './load-sdk.ts'
import { createMcpRoute } from './mcp-route.ts'

/** Adds the two ways for coding agents to read profiles (MCP): a command, and a route, whose controller it returns. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy' | 'cpu'>): Controller {
  const { profiler, storage } = app
  const logger = app.logger.channel('profiler')
  const load = async (replayer?: Replayer) => {
    const [{ openServer }, sdk, panels, inspector] = await Promise.all([
      import('./open-server.ts'),
      loadSdk(),
      app.panels(),
      app.inspector(),
    ])
    return { sdk, open: () => openServer(sdk, { inspector, profiler, storage, replayer, panels }, logger) }
  }
  // Without replay: a command runs the code of its start, and only a server can show the effect of a change.
  app.commands.push(async () => {
    const { createMcpCommand } = await import('./mcp-command.ts')
    return [createMcpCommand({ storage, load })]
  })
  const { PROFILER_MCP, PROFILER_MCP_REPLAY } = app.settings.of(profilerSettings)
  const replayer = PROFILER_MCP_REPLAY ? app.replayer : undefined
  const route = createMcpRoute({ ...app, isOn: PROFILER_MCP, load: () => load(replayer) })
  app.routes.add(route)
  return route.controller
}
