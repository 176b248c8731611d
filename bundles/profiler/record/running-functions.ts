import { nameOfController } from '../../../kernel/controller.ts'
import type { ThrownFrames } from '../../../kernel/thrown-frames.ts'
import type { Caller, CodePlace } from '../../../lib/stack/callers.ts'
import type { ListenerSites } from './listener-sites.ts'
import type { Trace } from './trace.ts'

/** Finds the function that runs for a request; `undefined` for one of the package. */
export type FindRunning = (trace: Trace) => Caller | undefined

/**
 * Creates the search for the callers that no stack names: a library that works with timers, events or promises of its own is called
 * by the listener that runs for the request, or else by its controller.
 */
export function createRunningSearch(
  thrown: Pick<ThrownFrames, 'findDefinition'>,
  sites: ListenerSites,
  directory: string,
): FindRunning {
  /** The same function has the same object: its queries are those of one place. */
  const known = new WeakMap<object, Caller | undefined>()
  const remember = (running: object, name: string, find: () => CodePlace | undefined) => {
    if (!known.has(running)) {
      const { column, file, line } = find() ?? {}
      known.set(running, file === undefined ? undefined : { function: name, file, line, column, isIn: true })
    }
    return known.get(running)
  }
  return ({ events: { openListener }, request }) => {
    if (openListener !== undefined) {
      const { listener, name } = openListener
      return remember(listener, name, () => {
        const place = sites.findPlace(listener, directory)
        return place?.origin === 'application' ? place : undefined
      })
    }
    const { attributes } = request
    const controller: unknown = attributes.get('_controller')
    if (Object(controller) !== controller) return undefined
    const name = nameOfController(controller, attributes.get('_route'))
    return remember(controller as object, name, () => thrown.findDefinition(request))
  }
}
