import { checkOptions } from '../../lib/errors/arguments.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { RequestHandler } from '../../lib/routing/route-collection.ts'
import { ControllerResolver } from '../controller-resolver.ts'
import { HttpKernel } from '../http-kernel.ts'
import { RequestContext } from '../request-context.ts'
import { createRequest, silentLogger } from './event-factories.ts'
import { RecordingDispatcher } from './recording-dispatcher.ts'

/** The parts of a bare kernel that a test may supply. */
export interface BareKernelOptions {
  /** Controllers by name. */
  readonly controllers?: ControllerResolver
  readonly logger?: Logger
}

/** A kernel without bundles and listeners, and a request for it. */
export interface BareKernel {
  readonly kernel: HttpKernel
  /** Records the events; tests add their listeners here. */
  readonly dispatcher: RecordingDispatcher
  /** A GET of `/here` that the handler answers. There is no router: the request has its controller already. */
  readonly request: Request
  /** The names of the dispatched events, in their order. */
  readonly sequence: readonly string[]
}

/**
 * Creates a kernel for tests of events: it calls only the handler and the listeners that the test adds. The handler
 * answers `request`; by default with the text `done`.
 */
export function createBareKernel(
  handler: RequestHandler = () => new Response('done'),
  options: BareKernelOptions = {},
): BareKernel {
  checkOptions('createBareKernel()', options, { controllers: true, logger: true })
  const { controllers = new ControllerResolver(), logger = silentLogger } = options
  const dispatcher = new RecordingDispatcher()
  const kernel = new HttpKernel({ dispatcher, controllers, context: new RequestContext(), logger })
  const request = createRequest('/here', { attributes: { _controller: handler } })
  return { kernel, dispatcher, request, sequence: dispatcher.sequence }
}
