import { toSource } from '../../../lib/stack/source-maps.ts'
import {
  type CodePlace,
  type FrameLocation,
  locateFrame,
  parseStack,
  type StackFrame,
} from '../../../lib/stack/stack-frames.ts'

/** A frame of a registration: where it is, and whose code it is. */
type RegistrationFrame = FrameLocation & Pick<CodePlace, 'line' | 'column'>

/**
 * Knows the lines by which functions are registered. A line is that of a helper if several lines have called
 * it, and none of them has called another one: each call of `get(path, handler)` leads to its one line. What
 * registers several routes, such as a function that creates a router, is called once for all of them.
 */
export class RegistrationLines {
  readonly #take: () => readonly object[]
  readonly #accepts: (frame: RegistrationFrame, call: StackFrame) => boolean
  /** A process has one directory. */
  #places = new WeakMap<object, { readonly directory: string; readonly frame: RegistrationFrame | undefined }>()
  readonly #callers = new Map<string, Set<string>>()
  readonly #called = new Map<string, Set<string>>()

  /** `take` returns the captured stacks of new registrations, and `accepts` chooses the frames that may be a place. */
  constructor(take: () => readonly object[], accepts: (frame: RegistrationFrame, call: StackFrame) => boolean) {
    this.#take = take
    this.#accepts = accepts
  }

  /** The frame that has registered a function; `undefined` if it is not known. */
  find(registration: object | undefined, directory: string): RegistrationFrame | undefined {
    if (registration === undefined) return undefined
    const fresh = this.#take()
    for (const each of fresh) this.#learn(this.#read(each, directory))
    if (fresh.length > 0) this.#places = new WeakMap()
    const known = this.#places.get(registration)
    if (known?.directory === directory) return known.frame
    const frames = this.#read(registration, directory)
    const frame = frames.find(each => !this.#isHelper(each)) ?? frames[0]
    this.#places.set(registration, { directory, frame })
    return frame
  }

  #read(registration: object, directory: string): RegistrationFrame[] {
    return parseStack(registration).flatMap(call => {
      const source = toSource(call, directory)
      const { column, line } = source
      const frame = { ...locateFrame(source, directory), line, column }
      return this.#accepts(frame, call) ? [frame] : []
    })
  }

  #learn(frames: readonly RegistrationFrame[]): void {
    for (const [at, caller] of frames.slice(1).entries()) {
      const [from, to] = [lineOf(caller), lineOf(frames[at] ?? caller)]
      addTo(this.#callers, to, from)
      addTo(this.#called, from, to)
    }
  }

  #isHelper(frame: RegistrationFrame): boolean {
    const callers = [...(this.#callers.get(lineOf(frame)) ?? [])]
    return callers.length > 1 && callers.every(caller => this.#called.get(caller)?.size === 1)
  }
}

function lineOf({ file, line }: RegistrationFrame): string {
  return `${file}:${line}`
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}
