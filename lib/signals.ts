import mitt from 'mitt'

/** The signals and what each tells; whoever emits one adds it here by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging, one entry beside each emitter
export interface SignalMap {}

/** Things told after the fact, which nobody orders, answers, stops or delays. For everything else there are events. */
export interface Signals {
  /** Returns what removes the handler again. */
  on<name extends keyof SignalMap>(name: name, handler: (value: SignalMap[name]) => void): () => void
  emit<name extends keyof SignalMap>(name: name, value: SignalMap[name]): void
}

/** Creates signals of which no handler can hurt another or the one who tells: its error goes to `onError`. */
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
    emit: (name, value) => emitter.emit(name, value),
  }
}
