import { RequestEvent, TerminateEvent } from 'sinfonietta'
import type { Test } from 'tap'
import { ControllerResolver } from '#kernel/controller.ts'
import { HttpKernel } from '#kernel/http-kernel.ts'
import { RequestContext } from '#kernel/request-context.ts'
import { NodeServer, type NodeServerOptions } from '#kernel/server/node-server.ts'
import { createEventDispatcher, type EventDispatcher } from '#lib/event-dispatcher/event-dispatcher.ts'
import { TrustedProxies } from '#lib/http/trusted-proxies.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { createSignals } from '#lib/signals.ts'
import { usesNodeMessages } from './node-messages.ts'
import { createRecorder, type LogRecord } from './recording-logger.ts'

/** A server before a kernel without bundles: unless a listener or handler of the test waits, nothing waits. */
export interface BareServer {
  readonly server: NodeServer
  readonly port: number
  readonly dispatcher: EventDispatcher
  readonly context: RequestContext
  /** What the context had before each request. */
  readonly contexts: ReadonlySet<unknown>
  readonly records: readonly LogRecord[]
  /** The path of each terminated request, and whether its response was sent, in order: `/here true`. */
  readonly terminated: readonly string[]
}

/** Starts a server whose requests are all answered by one handler. It is closed when the test ends. */
export async function startBareServer(
  t: Test,
  handler: RequestHandler,
  options: Partial<NodeServerOptions> = {},
): Promise<BareServer> {
  const { logger, records } = createRecorder()
  const dispatcher = createEventDispatcher()
  const context = new RequestContext()
  context.enable()
  const kernel = new HttpKernel({ dispatcher, controllers: new ControllerResolver(), context, logger })
  const contexts = new Set<unknown>()
  const terminated: string[] = []
  dispatcher.on(RequestEvent, ({ request }) => void request.attributes.set('_controller', handler))
  dispatcher.on(TerminateEvent, ({ isSent, request }) => void terminated.push(`${request.path} ${isSent}`))
  const signals = createSignals(error => t.fail(String(error)))
  const identify = () => void contexts.add(context.current)
  const app = { kernel, logger, signals, debugGate: { identify } }
  const server = new NodeServer(app, {
    trustedProxies: new TrustedProxies(),
    nodeMessages: usesNodeMessages(),
    ...options,
  })
  const url = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close({ deadline: 100 }))
  return { server, port: Number(new URL(url).port), dispatcher, context, contexts, records, terminated }
}
