import assert from 'node:assert'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { decodeTraces, type ExportedSpan, readTraces } from './decode-traces.ts'

/** A request for spans, as it arrived. */
export interface ReceivedExport {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly spans: readonly ExportedSpan[]
}

/** A back end that takes spans by OTLP. */
export interface TraceReceiver {
  readonly url: string
  readonly exports: readonly ReceivedExport[]
  /** All spans so far, in the order in which they arrived. */
  readonly spans: readonly ExportedSpan[]
  /** The only span of a name. */
  span(name: string): ExportedSpan
}

/** Starts a back end for the time of a test. It takes protobuf and JSON, and answers with a status. */
export async function startTraceReceiver(t: Test, status: () => number = () => 200): Promise<TraceReceiver> {
  const exports: ReceivedExport[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const isJson = request.headers['content-type'] === 'application/json'
      const spans = isJson ? readTraces(JSON.parse(body.toString())) : decodeTraces(body)
      exports.push({ path: String(request.url), headers: request.headers, spans })
      response.writeHead(status(), { 'content-type': String(request.headers['content-type']) })
      response.end(isJson ? '{}' : '')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    get spans() {
      return exports.flatMap(({ spans }) => spans)
    },
    span(name) {
      const found = exports.flatMap(({ spans }) => spans).filter(span => span.name === name)
      const [only] = found
      assert(only && found.length === 1, `There are ${found.length} spans "${name}".`)
      return only
    },
  }
}

/** The tree of some spans as names, each child indented below its parent; children in the order of their start. */
export function toTree(spans: readonly ExportedSpan[]): string[] {
  const sorted = [...spans].sort((a, b) => Number(a.start - b.start))
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const below = (parent: string | undefined, depth: number): string[] =>
    sorted
      .filter(({ parentId }) => (parent === undefined ? !ids.has(parentId) : parentId === parent))
      .flatMap(({ name, spanId }) => [`${'  '.repeat(depth)}${name}`, ...below(spanId, depth + 1)])
  return below(undefined, 0)
}
