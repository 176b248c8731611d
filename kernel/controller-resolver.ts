import { checkString } from '../lib/errors/arguments.ts'
import type { Request } from '../lib/http/request.ts'
import type { Route } from '../lib/routing/route.ts'
import type { RequestHandler } from '../lib/routing/route-collection.ts'
import { Declarations } from '../lib/stack/declaration-sites.ts'
import { describeValue, isClass } from '../lib/text/describe-value.ts'
import { suggestNames } from '../lib/text/nearest-names.ts'
import { type Controller, isController, listParameters, toController } from './controller.ts'
import { KERNEL_CONTROLLER_INVALID, KERNEL_CONTROLLER_MISSING } from './errors.ts'

/** Finds the controller of a request by its attribute `_controller`: a controller, a function, or a registered name. */
export class ControllerResolver {
  readonly #named = new Map<string, Controller>()
  readonly #handlers = new WeakMap<RequestHandler, Controller>()

  /** Registers a controller under a name, which requests can use as `_controller`. @throws KERNEL_CONTROLLER_INVALID ARGUMENT_INVALID */
  register(name: string, controller: Controller): void {
    checkString('controllers.register(name, controller)', 'the name', name)
    if (!isController(controller)) throw new KERNEL_CONTROLLER_INVALID([`"${name}"`, '; use toController(function)'])
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

  /** The mistake in the controller of a route, as the end of a sentence; `undefined` if requests can use it. */
  findMistake({ controller, defaults, host, path }: Route): string | undefined {
    if (typeof controller === 'string') {
      if (this.#named.has(controller)) return undefined
      return `there is no controller "${controller}"${this.#suggest(controller)}`
    }
    if (typeof controller === 'function') return findHandlerMistake(controller)
    if (!isController(controller)) {
      return `its controller is ${describeValue(controller)}, not a function or the result of defineController()`
    }
    const names = [...path.names, ...(host?.names ?? []), ...Object.keys(defaults)]
    const missing = listParameters(controller).find(name => !names.includes(name))
    if (missing === undefined) return undefined
    const variables = names.length === 0 ? '' : `: use ${names.join(', ')}`
    const suggestion = suggestNames(missing, names) || variables
    return `its controller needs the parameter "${missing}", but its path is ${path.source}${suggestion}`
  }

  #suggest(name: string): string {
    return name === 'error_controller' ? missingFramework : suggestNames(name, this.#named.keys())
  }

  #findNamed(name: string): Controller {
    const named = this.#named.get(name)
    if (named !== undefined) return named
    throw new KERNEL_CONTROLLER_INVALID([`"${name}"`, this.#suggest(name)])
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

/** Handlers of other frameworks answer by a second argument. */
const foreignHandler = /^[^(]*\(\s*\w+\s*,\s*(?:res|response|reply)\b/

function findHandlerMistake(handler: { readonly length: number }): string | undefined {
  if (isClass(handler)) return `its controller is ${describeValue(handler)}, not a function`
  const text = Function.prototype.toString.call(handler)
  if (handler.length < 3 && !foreignHandler.test(text)) return undefined
  return 'its controller takes (req, res): it gets (request, parameters), and returns a response, such as Response.text()'
}

/** The parts of an application that declare something. */
export interface Declaring {
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
