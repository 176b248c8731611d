import type { Listener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { CodePlace } from '../../../lib/stack/callers.ts'
import { type FrameLocation, locateFrame, parseStack } from '../../../lib/stack/stack-frames.ts'
import type { ListenerData } from '../profile/span-data.ts'

/** `subscribe` calls `on`: the caller of `subscribe` is the place of interest. */
const dispatcherFolder = /\blib[\\/]event-dispatcher[\\/]/

const bundleFolder = /\bbundles[\\/]([^\\/]+)[\\/]/

/** Where a listener was registered. */
export type ListenerSite = Required<Pick<ListenerData, 'site'>> & Pick<ListenerData, 'bundle'>

/**
 * Knows where listeners were registered, mostly in the file that they are written in. Each registration captures a
 * stack, which costs a few microseconds; it is parsed, with source maps, when it is asked for.
 */
export class ListenerSites {
  readonly #stacks = new WeakMap<Listener, { message: string; stack?: string }>()

  /** Captures the place that registers a listener now. */
  note(listener: Listener): void {
    const caught = { message: '' }
    Error.captureStackTrace(caught, TraceableEventDispatcher.prototype.on)
    this.#stacks.set(listener, caught)
  }

  /** The file, as seen from the application, and the line; `undefined` when it is not known. */
  find(listener: Listener, directory: string): ListenerSite | undefined {
    const { file, line, origin } = this.findPlace(listener, directory) ?? {}
    if (file === undefined) return undefined
    // The kernel registers listeners for the application, such as middleware.
    const bundle = origin === 'kernel' ? bundleFolder.exec(file)?.[1] : undefined
    return { site: `${file}:${line}`, ...(bundle !== undefined && { bundle }) }
  }

  /** The same place, with its column and its origin. */
  findPlace(listener: Listener, directory: string): (CodePlace & Pick<FrameLocation, 'origin'>) | undefined {
    for (const { column, line, ...frame } of parseStack(this.#stacks.get(listener))) {
      const { file, origin } = locateFrame(frame, directory)
      if (file !== undefined && !(origin === 'kernel' && dispatcherFolder.test(file)))
        return { file, line, column, origin }
    }
    return undefined
  }
}
