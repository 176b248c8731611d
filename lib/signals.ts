/**
 * The names of signals and the types of their values. An application adds its own by declaration
 * merging with the module `sinfonietta`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging, one entry beside each emitter
export interface SignalMap {}

/** Notifications after the fact. Handlers have no order, and cannot answer, stop or delay the code that emits. Use events for that. */
export interface Signals {
  /** Adds a handler. Returns a function that removes it. */
  on<name extends keyof SignalMap>(name: name, handler: (value: SignalMap[name]) => void): () => void
  emit<name extends keyof SignalMap>(name: name, value: SignalMap[name]): void
}
