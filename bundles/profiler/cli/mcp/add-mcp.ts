import { Writable } from 'node:stream'
import { currentRequest } from '../../../../kernel/argument-sources.ts'
import { type ConsoleCommand, exitCodes } from '../../../../kernel/console-command.ts'
import { type Controller, defineController } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { RouteDefinition } from '../../../../lib/routing/route.ts'
import type { Replayer } from '../../insight/replay/replay.ts'
import { home } from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { PROFILER_MCP_OFF } from '../../web/errors.ts'
import { type ProfilerApplication, protect } from '../../web/page.ts'
import { isProgram } from '../../web/routes.ts'
import { profilerSettings } from '../../web/settings.ts'
import type { McpSdk, OpenServer } from './open-server.ts'

/** Adds the two ways for coding agents to read profiles (MCP): a command, and a route, whose controller it returns. */
export function addMcp(app: Omit<ProfilerApplication, 'assets' | 'policy' | 'cpu'>): Controller {
  const { profiler, storage } = app
  const logger = app.logger.channel('profiler')
  const load = async (replayer?: Replayer) => {
    const { loadSdk, openServer } = await import('./open-server.ts')
    const [sdk, panels, inspector] = await Promise.all([loadSdk(), app.panels(), app.inspector()])
    return { sdk, open: () => openServer(sdk, { inspector, profiler, storage, replayer, panels }, logger) }
  }
  // Without replay: a command runs the code of its start, and only a server can show the effect of a change.
  app.commands.push(async () => [createMcpCommand({ storage, load })])
  const { PROFILER_MCP, PROFILER_MCP_REPLAY } = app.settings.of(profilerSettings)
  const replayer = PROFILER_MCP_REPLAY ? app.replayer : undefined
  const route = createMcpRoute({ ...app, isOn: PROFILER_MCP, load: () => load(replayer) })
  app.routes.add(route)
  return route.controller
}

/** The services that the route uses. */
interface McpRouteServices {
  readonly debugGate: DebugGate
  readonly profiler: Pick<Profiler, 'whenIdle'>
  readonly isOn: boolean
  readonly load: () => Promise<LoadedMcp>
}

/** Bytes of a message; a question has some hundreds. */
const bodyLimit = 64 * 1024

/**
 * Creates the route that answers agents (the streamable HTTP of MCP, without sessions). Clients that the debug gate
 * refuses, and pages of other sites, get the 404 of the router.
 */
export function createMcpRoute(services: McpRouteServices): RouteDefinition<Controller> & { controller: Controller } {
  const { debugGate, isOn, load, profiler } = services
  return {
    name: '_profiler_mcp',
    path: `${home}mcp`,
    defaults: { _body_limit: bodyLimit, _log: false },
    condition: request => isProgram(request) && debugGate.allows(request),
    controller: defineController('profiler_mcp', [currentRequest], async (request: Request) => {
      if (!isOn) throw new PROFILER_MCP_OFF([])
      // Agents try GET for notifications, which this server never sends. That is no mistake to log.
      if (request.method !== 'POST') return protect(refuse())
      const mcp = await load()
      await profiler.whenIdle()
      return protect(await answerMessage(request, mcp))
    }),
  }
}

function refuse(): Response {
  return Response.text('Coding agents are answered here (MCP), with POST.\n', {
    status: 405,
    headers: { allow: 'POST' },
  })
}

/** The headers that the transport reads. */
const headerNames: readonly string[] = ['accept', 'content-type', 'mcp-protocol-version']

/**
 * Answers one message. The transport of the SDK takes a request of the Fetch API and returns such a response: both are
 * converted here.
 *
 * @throws BODY_TYPE_UNSUPPORTED (415) BODY_JSON_INVALID (400)
 */
async function answerMessage(request: Request, { open, sdk }: LoadedMcp): Promise<Response> {
  const message = await request.json()
  // MCP dropped batches in 2025; a batch with a cancelled call would never be answered.
  if (Array.isArray(message)) return Response.json(noBatches, { status: 400 })
  const headers = headerNames.flatMap(name =>
    request.headers.getAll(name).map((value): [string, string] => [name, value]),
  )
  const fetched = new globalThis.Request(`http://localhost${request.rawPath}`, { method: request.method, headers })
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  const { server } = open()
  await server.connect(transport)
  try {
    const answer = await transport.handleRequest(fetched, { parsedBody: message })
    return new Response((await answer.text()) || null, { status: answer.status, headers: [...answer.headers] })
  } finally {
    await server.close()
  }
}

/** An error of JSON-RPC 2.0 (section 5.1). */
const noBatches = {
  jsonrpc: '2.0',
  error: { code: -32600, message: 'Invalid Request: send one message at a time.' },
  id: null,
}

/** The SDK, and a server of tools for each agent. */
interface LoadedMcp {
  readonly sdk: McpSdk
  readonly open: () => OpenServer
}

/** Creates the command that answers an agent on stdin and stdout. */
function createMcpCommand({
  load,
  storage,
}: {
  readonly storage: Pick<ProfileStorage, 'load'>
  readonly load: () => Promise<LoadedMcp>
}): ConsoleCommand {
  return {
    name: 'mcp',
    description: 'Answers a coding agent from the profiles, on stdin and stdout, by the Model Context Protocol',
    examples: [{ line: 'mcp', purpose: 'is started by the agent; see guides/coding-agents.md in the documents' }],
    async run({ signal, stdin }, output) {
      const { open, sdk } = await load()
      await storage.load()
      const { server, whenAnswered } = open()
      const hasEnded = new Promise<unknown>(resolve => {
        stdin.once('end', resolve)
        signal.addEventListener('abort', resolve, { once: true })
        if (signal.aborted) resolve(undefined)
      })
      const stdout = new Writable({
        decodeStrings: false,
        write(text, _encoding, done) {
          output.write(String(text))
          done()
        },
      })
      await server.connect(new sdk.StdioServerTransport(stdin, stdout))
      output.note('Waiting for a coding agent on stdin.')
      await hasEnded
      await whenAnswered()
      await server.close()
      return exitCodes.success
    },
  }
}
