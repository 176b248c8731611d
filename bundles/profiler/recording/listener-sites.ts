import path from 'node:path'
import type { Listener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { locateFrame, parseStack } from '../../../lib/stack/stack-frames.ts'

/** `subscribe` calls `on`: who has called that counts. */
const dispatcherFolder = path.join('lib', 'event-dispatcher') + path.sep

/**
 * Knows where listeners were registered: mostly in the file that they are written in. A stack is caught with each of
 * them, which costs a few microseconds; it is only read, with source maps, when somebody asks.
 */
export class ListenerSites {
  readonly #stacks = new WeakMap<Listener, { message: string; stack?: string }>()

  /** Takes note of whoever adds this listener now. */
  note(listener: Listener): void {
    const caught = { message: '' }
    Error.captureStackTrace(caught, TraceableEventDispatcher.prototype.on)
    this.#stacks.set(listener, caught)
  }

  /** File, relative to the project, and line; `undefined` when it is not known. */
  find(listener: Listener, directory: string): string | undefined {
    for (const frame of parseStack(this.#stacks.get(listener))) {
      const { file } = locateFrame(frame, directory)
      if (file !== undefined && !file.startsWith(dispatcherFolder)) return `${file}:${frame.line}`
    }
    return undefined
  }
}
