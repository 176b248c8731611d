import type { Listener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { locateFrame } from '../../../lib/stack/locate-frame.ts'
import { parseStack } from '../../../lib/stack/stack-frames.ts'

/** `subscribe` calls `on`: the caller of `subscribe` is the place of interest. */
const dispatcherFolder = /\blib[\\/]event-dispatcher[\\/]/

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
  find(listener: Listener, directory: string): string | undefined {
    for (const frame of parseStack(this.#stacks.get(listener))) {
      const { file, origin } = locateFrame(frame, directory)
      if (file !== undefined && !(origin === 'kernel' && dispatcherFolder.test(file))) return `${file}:${frame.line}`
    }
    return undefined
  }
}
