import { Response } from '../../lib/http/response.ts'
import { routeParameter } from './arguments.ts'
import { type Controller, defineController } from './controller.ts'

/** Answers a request whose path or scheme is nearly that of a route: sends the client to the attribute `_location`. */
export const redirectController: Controller = defineController(
  'redirect_controller',
  [routeParameter('_location')],
  location => Response.redirect(location, 301),
)
