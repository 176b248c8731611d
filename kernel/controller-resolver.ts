import type { Request } from '../lib/http/request.ts'
import type { Route } from '../lib/routing/route.ts'
import type { RequestHandler } from '../lib/routing/route-collection.ts'
import { Declarations } from '../lib/stack/declaration-sites.ts'
import { suggestNames } from '../lib/text/nearest-names.ts'
import { type Controller, toController } from './controller.ts'
import { KERNEL_CONTROLLER_INVALID, KERNEL_CONTROLLER_MISSING } from './errors.ts'

/** Finds the controller of a request by its attribute `_controller`: a controller, a function, or a registered name. */
export class ControllerResolver {
  readonly #named = new Map<string, Controller>()
  readonly #handlers = new WeakMap<RequestHandler, Controller>()

  /** Registers a controller under a name, which requests can use as `_controller`. */
  register(name: string, controller: Controller): void {
    this.#named.set(name, controller)
  }

  /** Replaces a registered controller by one that wraps it. @throws KERNEL_CONTROLLER_INVALID */
  decorate(name: string, decorator: (controller: Controller) => Controller): void {
    this.#named.set(name, decorator(this.#findNamed(name)))
  }

  /** The registered controllers. */
  get registered(): Iterable<Controller> {
    return this.#named.values()
  }

  /** @throws KERNEL_CONTROLLER_MISSING (404) KERNEL_CONTROLLER_INVALID */
  resolve(request: Request): Controller {
    const wanted = request.attributes.get('_controller')
    if (wanted === undefined) throw new KERNEL_CONTROLLER_MISSING([request.path])
    if (isController(wanted)) return wanted
    if (typeof wanted === 'function') return this.#ofHandler(wanted as RequestHandler, request)
    return this.#findNamed(String(wanted))
  }

  #findNamed(name: string): Controller {
    const named = this.#named.get(name)
    if (named !== undefined) return named
    const suggestion = name === 'error_controller' ? missingFramework : suggestNames(name, this.#named.keys())
    throw new KERNEL_CONTROLLER_INVALID([`"${name}"`, suggestion])
  }

  #ofHandler(handler: RequestHandler, { attributes }: Request): Controller {
    const known = this.#handlers.get(handler)
    if (known !== undefined) return known
    const route = attributes.get('_route')
    const controller = toController(handler, typeof route === 'string' ? route : undefined)
    this.#handlers.set(handler, controller)
    return controller
  }
}

/** The parts of an application that declare something. */
interface Declaring {
  readonly routes: Iterable<Route>
  readonly controllers: Pick<ControllerResolver, 'registered'>
  readonly directory: string
}

/** Creates the search for the places where the routes and controllers of an application were declared. */
export function createDeclarations({ controllers, directory, routes }: Declaring): Declarations {
  const listAll = () => [...Array.from(routes, route => [route, route.controller]).flat(), ...controllers.registered]
  return new Declarations(listAll, directory)
}

const missingFramework =
  '; the framework bundle registers it: it has to be in the list of bundles, before those that build on it'

function isController(value: unknown): value is Controller {
  return typeof value === 'object' && value !== null && 'call' in value && 'arguments' in value
}
