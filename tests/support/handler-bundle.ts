import type { Bundle } from 'sinfonietta'
import { toController } from '#kernel/controller.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'

/** Makes a bundle of handlers by their paths, which also name the routes. */
export function createHandlerBundle(handlers: Readonly<Record<string, RequestHandler>>): Bundle {
  return {
    name: 'handlers',
    register({ routes }) {
      for (const [path, handler] of Object.entries(handlers)) {
        routes.add({ name: path, path, controller: toController(handler) })
      }
    },
  }
}
