/** The names of signals and the types of their values. Each emitter adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging, one entry beside each emitter
export interface SignalMap {}

/** Notifications after the fact. Handlers have no order, and cannot answer, stop or delay the emitter. Use events for that. */
export interface Signals {
  /** Adds a handler. Returns a function that removes it. */
  on<name extends keyof SignalMap>(name: name, handler: (value: SignalMap[name]) => void): () => void
  emit<name extends keyof SignalMap>(name: name, value: SignalMap[name]): void
}
