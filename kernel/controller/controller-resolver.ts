import type { Request } from '../../lib/http/request.ts'
import { KERNEL_CONTROLLER_INVALID, KERNEL_CONTROLLER_MISSING } from '../errors.ts'
import { type Controller, type RequestHandler, toController } from './controller.ts'

/** Finds the controller of a request by its attribute `_controller`: one itself, a function, or a registered name. */
export class ControllerResolver {
  readonly #named = new Map<string, Controller>()
  readonly #handlers = new WeakMap<RequestHandler, Controller>()

  /** Lets requests name a controller instead of carrying it. */
  register(name: string, controller: Controller): void {
    this.#named.set(name, controller)
  }

  /** Puts a controller in the place of a registered one, made of that. @throws KERNEL_CONTROLLER_INVALID */
  decorate(name: string, decorator: (controller: Controller) => Controller): void {
    this.#named.set(name, decorator(this.#findNamed(name)))
  }

  /** @throws KERNEL_CONTROLLER_MISSING (404) KERNEL_CONTROLLER_INVALID */
  resolve(request: Request): Controller {
    const wanted = request.attributes.get('_controller')
    if (wanted === undefined) throw new KERNEL_CONTROLLER_MISSING([request.path])
    if (isController(wanted)) return wanted
    if (typeof wanted === 'function') return this.#ofHandler(wanted as RequestHandler)
    return this.#findNamed(String(wanted))
  }

  #findNamed(name: string): Controller {
    const named = this.#named.get(name)
    if (named === undefined) throw new KERNEL_CONTROLLER_INVALID([`"${name}"`])
    return named
  }

  #ofHandler(handler: RequestHandler): Controller {
    const known = this.#handlers.get(handler)
    if (known !== undefined) return known
    const controller = toController(handler)
    this.#handlers.set(handler, controller)
    return controller
  }
}

function isController(value: unknown): value is Controller {
  return typeof value === 'object' && value !== null && 'call' in value && 'arguments' in value
}
