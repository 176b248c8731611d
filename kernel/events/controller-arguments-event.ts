import type { Request } from '../../lib/http/request.ts'
import type { Controller } from '../controller/controller.ts'
import type { RequestType } from '../request-type.ts'
import { KernelEvent, type RequestKernel } from './kernel-event.ts'

/** The controller's arguments are resolved: listeners may replace them, and the controller. */
export class ControllerArgumentsEvent extends KernelEvent {
  static readonly eventName = 'kernel.controller_arguments'
  controller: Controller
  arguments: unknown[]

  constructor(kernel: RequestKernel, request: Request, type: RequestType, controller: Controller, values: unknown[]) {
    super(kernel, request, type)
    this.controller = controller
    this.arguments = values
  }
}
