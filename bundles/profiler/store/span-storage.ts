import type { ReceivedSpan } from '../profile/span-data.ts'

/**
 * Stores the spans that services have sent, within limits. No method rejects because of the state of the disk. Processes
 * that use the same storage see the same spans.
 */
export interface SpanStorage {
  /** Stores spans. Resolves with whether they are stored. */
  append(spans: readonly ReceivedSpan[]): Promise<boolean>
  /** Finds the spans of a trace, each once: the 2,000 newest. */
  find(traceId: string): Promise<readonly ReceivedSpan[]>
  /** Removes all spans. */
  purge(): Promise<void>
}

/** The most spans of a trace that are found. */
export const foundLimit = 2000

/** The number of spans in memory. */
const memoryLimit = 10_000

/** Stores spans in memory: for tests and short-lived processes. */
export class MemorySpanStorage implements SpanStorage {
  #spans: ReceivedSpan[] = []

  async append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    this.#spans = [...this.#spans, ...spans].slice(-memoryLimit)
    return true
  }

  async find(traceId: string): Promise<readonly ReceivedSpan[]> {
    const found = this.#spans.filter(span => span.traceId === traceId)
    return [...new Map(found.map(span => [span.spanId, span])).values()].slice(-foundLimit)
  }

  async purge(): Promise<void> {
    this.#spans = []
  }
}
