import type { Application } from '../../../kernel/bundle.ts'
import type { ConsoleCommand } from '../../../kernel/console-command.ts'
import { createDebugConfig } from './debug-config.ts'
import { createDebugEvents } from './debug-events.ts'
import { createDebugRouteMatch } from './debug-route-match.ts'
import { createDebugRoutes } from './debug-routes.ts'
import { createDebugTemplates } from './debug-templates.ts'

/** Creates the commands that describe the application. */
export function createCommands(app: Application): ConsoleCommand[] {
  return [
    createDebugConfig(app),
    createDebugEvents(app.dispatcher),
    createDebugRouteMatch(app.routes),
    createDebugRoutes(app.routes),
    createDebugTemplates(app),
  ]
}
