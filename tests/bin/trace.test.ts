import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Request } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { t } from 'tap'
import { loadInstrumentations } from '#bin/application/instrumentation.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

const undiciInstrumentation = `
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
export const instrumentations = [new UndiciInstrumentation()]
`

t.test('two processes that call each other are one tree in the profiles of their trace', async t => {
  const directory = t.testdir()
  mkdirSync(path.join(directory, 'dist'))
  writeFileSync(path.join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(path.join(directory, 'dist/instrumentation.js'), undiciInstrumentation)
  await loadInstrumentations(directory, false)

  let stockUrl = ''
  let ownUrl = ''
  const kernel = await createProfiledKernel(t, {
    directory: process.cwd(),
    bundles: [createOpenTelemetryBundle()],
    handlers: {
      '/front': async (_request: Request) =>
        new Response(await (await fetch(`${stockUrl}/?url=${ownUrl}/back`)).text()),
      '/back': () => new Response('back'),
    },
  })
  const { url } = await serveKernel(t, kernel)
  ownUrl = url
  const program = path.join(import.meta.dirname, '../fixtures/traced-service.js')
  const command = [process.execPath, program, `${url}/_profiler/otlp/v1/traces`]
  const service = startProcess(t, command, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let port: unknown
  service.once('message', message => (port = message))
  await until(() => port !== undefined, 20)
  stockUrl = `http://127.0.0.1:${port}`

  const response = await fetch(`${url}/front`)
  t.equal(await response.text(), 'stock')
  const front = await kernel.profileOf(response)
  const traceId = String(front.collectors.request?.traceId)
  t.match(traceId, /^[\da-f]{32}$/)
  const { summaries } = await kernel.storage.search({
    filters: [{ field: 'url', test: 'contains', value: '/back' }],
    limit: 10,
  })
  const back = (await kernel.storage.find(String(summaries.find(({ route }) => route === '/back')?.token)))
    ?.profile as Profile

  await t.test('the calls of undici are recorded once, with the span that they sent', async t => {
    const calls = front.collectors.http?.calls ?? []
    t.equal(calls.length, 1)
    t.match(calls[0]?.spanId, /^[\da-f]{16}$/)
    t.equal(front.collectors.queries, undefined)
  })

  await t.test('the profile of the first request has the work of the other process in its call', async t => {
    const html = await kernel.show('time', front)
    const lines = readLines(html)
    const from = lines.findIndex(line => line.includes('127.0.0.1'))
    t.strictSame(
      lines
        .slice(from + 1, from + 5)
        .map(line => line.replace(/^depth-(\d) /, (_, depth) => `${Number(depth) - depthOf(lines[from])} `)),
      ['1 GET /stock stock', '2 SELECT stock stock', '2 GET stock', '3 GET /back this application'],
    )
    t.match(html, `<code>${traceId}</code>`)
    t.notMatch(html, 'Called by')
    t.notMatch(html, 'more spans of this trace')
    t.match(html, `/_profiler/${back.summary.token}?panel&#x3D;time`)
  })

  await t.test('the profile of the second request has its callers, the outermost first', async t => {
    t.equal(back.collectors.request?.traceId, traceId)
    const html = await kernel.show('time', back)
    const [, callers = ''] = /Called by([\s\S]+?)<\/p>/.exec(html) ?? []
    t.strictSame(
      callers
        .replace(/<[^>]+>/g, '')
        .replace(/\s+/g, ' ')
        .match(/(?:GET(?: \/\w+)?) (?:stock|this application)/g),
      ['GET /front this application', 'GET /stock stock', 'GET stock'],
    )
    t.match(html, '1 more spans of this trace')
  })
})

/** The lines of a timeline: depth, name and note. */
function readLines(html: string): string[] {
  return [...html.matchAll(/<tr id="row-\d+" class="of-\S+ (depth-\d)[^"]*"[^>]*>\s*<th[^>]*>([\s\S]*?)<\/th>/g)].map(
    ([, depth, cell = '']) => `${depth} ${cell.replace(/<[^>]+>/g, '').trim()}`,
  )
}

function depthOf(line = ''): number {
  return Number(/\d/.exec(line)?.[0])
}
