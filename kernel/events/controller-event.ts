import type { Request } from '../../lib/http/request.ts'
import type { Controller } from '../controller/controller.ts'
import type { RequestType } from '../request-type.ts'
import { KernelEvent, type RequestKernel } from './kernel-event.ts'

/** A controller is chosen: listeners may put another in its place. */
export class ControllerEvent extends KernelEvent {
  static readonly eventName = 'kernel.controller'
  controller: Controller

  constructor(kernel: RequestKernel, request: Request, type: RequestType, controller: Controller) {
    super(kernel, request, type)
    this.controller = controller
  }
}
