import type { Controller } from '../../../kernel/controller.ts'
import type { RouteDefinition } from '../../../lib/routing/route.ts'

/** The route of a page; who may see it is the same for all. */
export type PageRoute = Pick<RouteDefinition<Controller>, 'name' | 'path' | 'controller' | 'requirements'>
