import { type Controller, currentRequest, defineController } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { RouteDefinition } from '../../../../lib/routing/route.ts'
import { home } from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import { protect } from '../../web/respond.ts'
import { acceptsProgram } from './accepts-program.ts'
import type { McpServices } from './create-mcp-command.ts'
import { PROFILER_MCP_OFF } from './errors.ts'

/** What the route works with. */
export interface McpRouteServices extends Omit<McpServices, 'storage'> {
  readonly debugGate: DebugGate
  readonly profiler: Pick<Profiler, 'whenIdle'>
  readonly isOn: boolean
}

/** Bytes of a message: a question has some hundreds. */
const bodyLimit = 64 * 1024

/**
 * Creates the address at which agents are answered (the streamable HTTP of MCP, without sessions). Whom the gate of debug
 * output does not let in, and pages of other sites, get the router's own 404.
 */
export function createMcpRoute(services: McpRouteServices): RouteDefinition<Controller> & { controller: Controller } {
  const { debugGate, isOn, loadSdk, logger, profiler, tools } = services
  return {
    name: '_profiler_mcp',
    path: `${home}mcp`,
    defaults: { _body_limit: bodyLimit, _log: false },
    condition: request => acceptsProgram(request) && debugGate.allows(request),
    controller: defineController('profiler_mcp', [currentRequest], async (request: Request) => {
      if (!isOn) throw new PROFILER_MCP_OFF([])
      // Agents try GET for news that we never have; that is no mistake, and not to be logged as one.
      if (request.method !== 'POST') return protect(refuse())
      const [sdk, { answerMessage }, { openServer }] = await Promise.all([
        loadSdk(),
        import('./answer-message.ts'),
        import('./open-server.ts'),
      ])
      await profiler.whenIdle()
      const { server } = openServer(sdk, await tools(), logger)
      return protect(await answerMessage(request, server, sdk))
    }),
  }
}

function refuse(): Response {
  return Response.text('Coding agents are answered here (MCP), with POST.\n', {
    status: 405,
    headers: { allow: 'POST' },
  })
}
