import mitt from 'mitt'
import { ARGUMENT_INVALID, checkFunction, checkString } from './errors/arguments.ts'
import { isThenable } from './event-dispatcher/event-dispatcher.ts'
import { nearestNames } from './text/mistakes.ts'

/**
 * The names of signals and the types of their values. An application adds its own by declaration
 * merging with the module `sinfonietta`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging, one entry beside each emitter
export interface SignalMap {}

/**
 * Messages after something has happened. Handlers have no order, and cannot answer, stop or delay
 * the code that emits. Use events for that.
 */
export interface Signals {
  /** Adds a handler. Returns a function that removes it. @throws ARGUMENT_INVALID */
  on<name extends keyof SignalMap>(name: name, handler: (value: SignalMap[name]) => void): () => void
  /** Whether a signal has a handler: asked before a value that costs time is made. */
  has(name: keyof SignalMap): boolean
  /** Calls all handlers of the signal, one after the other. Their errors are logged. */
  emit<name extends keyof SignalMap>(name: name, value: SignalMap[name]): void
}

/** Receives the error of a handler, the name of the signal, and the owner of the handler if it has one. */
type OnHandlerError = (error: unknown, name: string, owner: string | undefined) => void

const owners = new WeakMap<object, string>()

/** Signals whose handlers have an owner, such as a bundle. `onError` of `createSignals` receives it with an error. */
export function ownSignals(signals: Signals, owner: string): Signals {
  return {
    ...signals,
    on(name, handler) {
      if (typeof handler !== 'function') return signals.on(name, handler)
      // A function of its own: two bundles may add the same handler.
      const own: typeof handler = value => handler(value)
      owners.set(own, owner)
      return signals.on(name, own)
    },
  }
}

/**
 * Creates signals. The error of a handler goes to `onError`, also that of a promise: it affects neither other
 * handlers nor the emitter. `known` are the names that have a meaning; other names are free, unless they are nearly
 * the same. `onUnheard` is called once for a name that is emitted without a handler, while a similar name has one.
 */
export function createSignals(
  onError: OnHandlerError,
  known: readonly string[] = [],
  onUnheard?: (name: string, nearest: string) => void,
): Signals {
  // Under nodenext the default import of mitt is typed as the module (mitt issue 191).
  const emitter = (mitt as unknown as typeof mitt.default)<Record<string, unknown>>()
  const checked = new Set<string>(known)
  const check = (call: string, name: string) => {
    if (checked.has(name)) return
    checkString(call, 'the name', name)
    checkName(call, name, known)
    checked.add(name)
  }
  return {
    on(name, handler) {
      check('signals.on()', name)
      checkFunction(`signals.on("${name}", handler)`, 'the handler', handler)
      const report = (error: unknown) => onError(error, name, owners.get(handler))
      const guarded = (value: unknown) => {
        try {
          const result: unknown = handler(value as SignalMap[typeof name])
          if (!isThenable(result)) return
          const over = name === 'server.draining' ? watchEnd(owners.get(handler)) : undefined
          result.then(over, error => {
            over?.()
            report(error)
          })
        } catch (error) {
          report(error)
        }
      }
      emitter.on(name, guarded)
      return () => emitter.off(name, guarded)
    },
    has: name => (emitter.all.get(name)?.length ?? 0) > 0,
    emit(name, value) {
      if (!checked.has(name)) {
        check('signals.emit()', name)
        const heard = [...emitter.all].flatMap(([each, handlers]) => (handlers?.length ? String(each) : []))
        const [nearest] = nearestNames(name, heard, 2)
        if (nearest !== undefined) onUnheard?.(name, nearest)
      }
      const handlers = emitter.all.get(name) as readonly ((value: unknown) => void)[] | undefined
      // mitt copies the list, which costs more than the rest. Most signals have one handler.
      if (handlers?.length === 1) handlers[0]?.(value)
      else emitter.emit(name, value)
    },
  }
}

/**
 * Nothing waits for a handler. Says so at the end of the process, if one for the end of the server has not ended: the
 * returned function is called when it has.
 */
function watchEnd(bundle: string | undefined): () => void {
  const warn = () => {
    const owner = bundle === undefined ? '' : ` of the bundle "${bundle}"`
    process.stderr.write(
      `A handler${owner} for "server.draining" has not ended: await such work in close() of a bundle.\n`,
    )
  }
  process.once('exit', warn)
  return () => void process.off('exit', warn)
}

/**
 * The type of an application's own signals is gone when it runs. So a name is refused if it is in the area `kernel` or
 * `server`, or differs in one or two characters from a known name. @throws ARGUMENT_INVALID
 */
function checkName(call: string, name: string, known: readonly string[]): void {
  if (/^SIG[A-Z]+$/.test(name)) {
    const mistake = `"${name}" is a signal of the process: use "server.draining", or process.on("${name}", …)`
    throw new ARGUMENT_INVALID([call, mistake])
  }
  const [nearest] = nearestNames(name, known, 2)
  const [area] = /^(?:kernel|server)\./.exec(name) ?? []
  const names = nearest === undefined ? known.filter(each => area !== undefined && each.startsWith(area)) : [nearest]
  if (names.length === 0) return
  throw new ARGUMENT_INVALID([call, `there is no signal "${name}": use ${names.map(each => `"${each}"`).join(', ')}`])
}
