import { parseJsonObject } from '../../profile/schema.ts'
import { parseReceivedSpan, type ReceivedSpan } from '../../profile/span-data.ts'
import { foundLimit, type SpanStorage } from '../span-storage.ts'
import { asList } from './replies.ts'
import { appendSpansScript, findSpansScript, purgeSpansScript, type RunScript } from './scripts.ts'

/** Bytes of all spans, as in files. */
const sizeLimit = 8 * 1024 * 1024

/** What the spans are stored with. */
export interface RedisSpansOptions {
  readonly run: RunScript
  /** Milliseconds after which a trace without new spans is gone. */
  readonly age: number
  readonly onProblem: (message: string, error: unknown) => void
}

/** Stores spans in Redis: a list for each trace. */
export class RedisSpans implements SpanStorage {
  readonly #options: RedisSpansOptions

  constructor(options: RedisSpansOptions) {
    this.#options = options
  }

  async append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    const { age, onProblem, run } = this.#options
    const traces = new Map<string, string[]>()
    for (const span of spans) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), JSON.stringify(span)])
    try {
      for (const [trace, texts] of traces) await run(appendSpansScript, [trace, age, sizeLimit, foundLimit, ...texts])
      return true
    } catch (error) {
      onProblem('Spans of other services cannot be stored.', error)
      return false
    }
  }

  async find(traceId: string): Promise<readonly ReceivedSpan[]> {
    const texts = asList(await this.#options.run(findSpansScript, [traceId]).catch(() => null))
    const spans = texts.map(text => parseReceivedSpan(parseJsonObject(String(text))))
    return [...new Map(spans.flatMap(span => (span === undefined ? [] : [[span.spanId, span]]))).values()]
  }

  async purge(): Promise<void> {
    while ((await this.#options.run(purgeSpansScript, []).catch(() => 0)) === 1);
  }
}
