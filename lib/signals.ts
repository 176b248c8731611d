import mitt from 'mitt'

/**
 * The names of signals and the types of their values. An application adds its own by declaration merging with the module
 * `sinfonietta`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging, one entry beside each emitter
export interface SignalMap {}

/** Messages after something has happened. Handlers have no order, and cannot answer, stop or delay the code that emits. Use events for that. */
export interface Signals {
  /** Adds a handler. Returns a function that removes it. */
  on<name extends keyof SignalMap>(name: name, handler: (value: SignalMap[name]) => void): () => void
  /** Whether a signal has a handler: asked before a value that costs time is made. */
  has(name: keyof SignalMap): boolean
  emit<name extends keyof SignalMap>(name: name, value: SignalMap[name]): void
}

/** Creates signals. The error of a handler goes to `onError`: it affects neither other handlers nor the emitter. */
export function createSignals(onError: (error: unknown) => void): Signals {
  // Under nodenext the default import of mitt is typed as the module (mitt issue 191).
  const emitter = (mitt as unknown as typeof mitt.default)<Record<string, unknown>>()
  return {
    on(name, handler) {
      const guarded = (value: unknown) => {
        try {
          handler(value as SignalMap[typeof name])
        } catch (error) {
          onError(error)
        }
      }
      emitter.on(name, guarded)
      return () => emitter.off(name, guarded)
    },
    has: name => (emitter.all.get(name)?.length ?? 0) > 0,
    emit: (name, value) => emitter.emit(name, value),
  }
}
