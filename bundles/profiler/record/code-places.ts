import { nameOfController } from '../../../kernel/controller.ts'
import type { ThrownFrames } from '../../../kernel/debug/thrown-frames.ts'
import type { Listener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { LogError } from '../../../lib/log/create-logger.ts'
import type { Caller } from '../../../lib/stack/callers.ts'
import { declarationOf } from '../../../lib/stack/declaration-sites.ts'
import { toSource } from '../../../lib/stack/source-maps.ts'
import {
  type CodePlace,
  type FrameLocation,
  locateFrame,
  parseFrames,
  parseStack,
  type StackFrame,
} from '../../../lib/stack/stack-frames.ts'
import type { RecordedException, RecordedFrame } from '../profile/code.ts'
import type { ListenerData } from '../profile/span-data.ts'
import { middlewarePart } from './middleware-trace.ts'
import { findRegistration } from './registration-lines.ts'
import type { Trace } from './trace.ts'

/** `subscribe` calls `on`: the caller of `subscribe` is the place of interest. */
const dispatcherFolder = /\blib[\\/]event-dispatcher[\\/]/

const bundleFolder = /\bbundles[\\/]([^\\/]+)[\\/]/

/** Where a listener was registered. */
type ListenerSite = Required<Pick<ListenerData, 'site'>> & Pick<ListenerData, 'bundle'>

/** Where a listener was registered: file, as seen from the application, and line; `undefined` if it is not known. */
export function findListenerSite(listener: Listener, directory: string): ListenerSite | undefined {
  const { file, line, origin } = findListenerPlace(listener, directory) ?? {}
  if (file === undefined) return undefined
  // The kernel registers listeners for the application, such as middleware.
  const bundle = origin === 'kernel' ? bundleFolder.exec(file)?.[1] : undefined
  return { site: `${file}:${line}`, ...(bundle !== undefined && { bundle }) }
}

/** The same place, with its column and its origin. */
function findListenerPlace(
  listener: Listener,
  directory: string,
): (CodePlace & Pick<FrameLocation, 'origin'>) | undefined {
  for (const frame of parseStack(declarationOf(listener))) {
    const { column, line, ...source } = toSource(frame, directory)
    const { file, origin } = locateFrame(source, directory)
    if (file !== undefined && !(origin === 'kernel' && dispatcherFolder.test(file)))
      return { file, line, column, origin }
  }
  return undefined
}

/** Finds the function that runs for a request; `undefined` for one of the package. */
export type FindRunning = (trace: Trace) => Caller | undefined

/**
 * Creates the search for the callers that no stack names: a library that works with timers, events
 * or promises of its own is called by the function of another framework or the listener that runs
 * for the request, or else by its controller.
 */
export function createRunningSearch(thrown: Pick<ThrownFrames, 'findDefinition'>, directory: string): FindRunning {
  /** The same function has the same object: its queries are those of one place. */
  const known = new WeakMap<object, Caller | undefined>()
  const remember = (running: object, name: string, find: () => CodePlace | undefined) => {
    if (!known.has(running)) {
      const { column, file, line } = find() ?? {}
      known.set(running, file === undefined ? undefined : { function: name, file, line, column, isIn: true })
    }
    return known.get(running)
  }
  return trace => {
    const { running } = middlewarePart.find(trace) ?? {}
    const inFramework = running && remember(running.code, running.name, () => findRegistration(running.code, directory))
    if (inFramework !== undefined) return inFramework
    const {
      events: { openCall },
      request,
    } = trace
    if (openCall !== undefined) {
      const { listener, name } = openCall.listener
      return remember(listener, name, () => {
        const place = findListenerPlace(listener, directory)
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

const textLimit = 200

const pathLimit = 4096

/** Makes a recorded frame of a frame; `mask` masks and cuts its texts. Its file is relative to the directory. */
export function recordFrame(
  frame: StackFrame,
  directory: string,
  mask: (text: string, limit: number) => string,
): RecordedFrame {
  const source = toSource(frame, directory)
  const { column, line } = source
  const { file, origin, package: name } = locateFrame(source, directory)
  const call = `${frame.isAsync ? 'async ' : ''}${frame.function ?? 'anonymous'}`
  return {
    call: mask(call, textLimit),
    ...(file !== undefined && { file: mask(file, pathLimit) }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    origin,
    ...(name !== undefined && { package: mask(name, textLimit) }),
  }
}

/** Makes a recorded exception of an error. `above` are the lines of the stack of the error that has it as its cause. */
export function recordError(error: LogError, above: readonly string[], directory: string): RecordedException {
  const { cause, errors, stack, ...rest } = error
  const lines = stack === '' ? [] : stack.split('\n')
  const common = countCommon(lines, above, (one, other) => one === other)
  const own = lines.slice(0, lines.length - common)
  return {
    ...rest,
    frames: parseFrames(own).map(frame => recordFrame(frame, directory, text => text)),
    ...(common > 0 && { common }),
    ...(errors && { errors: errors.map(inner => recordError(inner, lines, directory)) }),
    ...(cause && { cause: recordError(cause, lines, directory) }),
  }
}

/** Counts the outermost calls that a stack has in common with the stack of the error above. */
export function countCommon<call>(
  calls: readonly call[],
  above: readonly call[],
  isSame: (one: call | undefined, other: call | undefined) => boolean,
): number {
  let common = 0
  const limit = Math.min(calls.length, above.length)
  while (common < limit && isSame(calls.at(-1 - common), above.at(-1 - common))) common++
  return common
}
