import mitt from 'mitt'
import type { SignalMap, Signals } from './signals.ts'

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
    emit: (name, value) => emitter.emit(name, value),
  }
}
