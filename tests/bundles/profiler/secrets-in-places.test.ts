import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { trace } from '@opentelemetry/api'
import { type Bundle, createFrameworkBundle, dump, type Request } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { Response } from '#lib/http/response.ts'
import { createLogger } from '#lib/log/create-logger.ts'
import { quotedForms, tableForms, tokenForms, wordForms } from '#tests/fixtures/secret-forms.ts'
import { startTraceReceiver } from '#tests/support/trace-receiver.ts'
import { until } from '#tests/support/until.ts'

/** Part of each secret. */
const planted = 'Kq3Wz5Zv7'
const texts = [...Object.values(wordForms).flat(), ...quotedForms, ...tableForms, ...tokenForms].map(form =>
  form.replaceAll('§', `${planted}Qj4Zq9Kv6Wz3Zj8Qv5`),
)
const vectors = 600

/** The places of one request; each gets the next text. A header has no line break, and only characters of Latin-1. */
const places = (
  'query header jsonBody message context exception cause property logged argument list dumped attribute session flash statement ' +
  'parameter span spanEvent responseHeader answer'
).split(' ')

type Planted = Readonly<Record<string, string>>

t.test(`${vectors} forms of secrets are in no place: store, pages, exports, logs, spans`, async t => {
  const receiver = await startTraceReceiver(t)
  const directory = t.testdir()
  let now: Planted = {}
  const { console } = globalThis
  const { log } = console
  console.log = () => {}
  t.teardown(() => Object.assign(console, { log }))
  const lines: string[] = []
  const leaky: Bundle = {
    name: 'leaky',
    register(app) {
      const controller = async (request: Request) => {
        const { queries, logger } = app
        await Promise.allSettled([
          request.body.json(),
          queries.measure('postgresql', String(now.statement), [now.parameter], () => 1),
        ])
        logger.error(String(now.message), { note: now.context, list: [now.context], exception: new Error(now.logged) })
        console.log(now.argument, [now.list], { note: now.list })
        dump([now.dumped, new Map([['note', now.dumped]])])
        request.attributes.set('settings', { note: now.attribute })
        await request.session.set('note', now.session)
        await request.session.flash('notice', String(now.flash))
        const span = trace.getTracer('leaky').startSpan('leaky', { attributes: { note: now.span } })
        span.recordException(new Error(now.spanEvent))
        span.end()
        if (request.path === '/broken')
          throw Object.assign(new Error(now.exception, { cause: new Error(now.cause) }), { note: now.property })
        return new Response(String(now.answer), {
          headers: { 'content-type': 'text/plain', 'x-note': String(now.responseHeader) },
        })
      }
      for (const route of ['/broken', '/answered'])
        app.routes.add({ name: route, path: route, controller, methods: ['POST'] })
    },
  }
  const storage = new FileProfileStorage({ directory, onProblem: problem => t.fail(String(problem)) })
  const { app, client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), leaky, createOpenTelemetryBundle(), createProfilerBundle({ storage })],
    variables: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  for (const format of ['json', 'readable'] as const) {
    const stream = { write: (line: string) => lines.push(line) > 0 }
    const logger = createLogger({ level: 'debug', format, stream, redactor: app.redactor })
    app.logger.observe(({ context, level, message }) => logger[level](message, context))
  }
  let next = 0
  const sql = wordForms.sql?.filter(form => form.startsWith('WHERE')) ?? []
  const take = (place: string): string => {
    // A name of a statement in double quotes is no value.
    if (place === 'statement') return (sql[next++ % sql.length] ?? '').replaceAll('§', planted)
    const text = texts[next++ % texts.length] ?? ''
    return /header/i.test(place) && !/^[\x20-\x7e]*$/.test(text) ? take(place) : text
  }
  const tokens: string[] = []
  for (let count = 0; count < vectors; count += places.length) {
    now = Object.fromEntries(places.map(place => [place, take(place)]))
    const target = `${count % 2 === 0 ? '/broken' : '/answered'}?note=${encodeURIComponent(String(now.query))}`
    const response = await client.post(target, {
      json: { note: now.jsonBody, list: [now.jsonBody] },
      headers: { 'x-note': String(now.header) },
    })
    tokens.push(String(response.headers.get('x-debug-token')))
  }
  const pages: string[] = []
  for (const token of tokens.slice(-2)) {
    for (const form of [
      '',
      '?panel=request',
      '?panel=exception',
      '?panel=console',
      '.json',
      '.md',
      '/export/har',
      '/export/curl',
      '/export/html',
    ]) {
      const page = await client.get(`/_profiler/${token}${form}`)
      t.equal(page.status, 200, form)
      pages.push(page.text)
    }
  }
  await until(() => receiver.spans.filter(({ name }) => name === 'leaky').length > 0, 50)
  await storage.flush()
  await close()
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  const stored = files.map(file => readFileSync(path.join(file.parentPath, file.name), 'latin1'))
  t.ok(stored.join('').length > 100_000)
  t.ok(lines.length > tokens.length)
  const all = {
    stored,
    pages,
    lines,
    spans: [JSON.stringify(receiver.spans, (_, each) => (typeof each === 'bigint' ? '' : each))],
  }
  const leaks = Object.entries(all).flatMap(([kind, parts]) =>
    parts.flatMap(part =>
      (part.match(new RegExp(`.{0,120}${planted.slice(0, 4)}`, 'g')) ?? []).map(leak => `${kind}: ${leak}`),
    ),
  )
  t.strictSame([...new Set(leaks)].slice(0, 60), [])
})
