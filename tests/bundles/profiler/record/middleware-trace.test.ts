import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { middlewarePart, routePatternOf } from '#bundles/profiler/record/middleware-trace.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { Redactor } from '#lib/redact/redactor.ts'

const redactor = new Redactor()

t.test('a pattern that is a wildcard alone does not make all pages one route', async t => {
  const wild = [
    ...['*', '/*', '/**', '/*splat', '/{*splat}', '{/*path}', '(.*)', '/(.*)', '/:page(.*)', '/:page*', '/:path+(.*)'],
    ...['/{rest*}', '/**:rest'],
    ...[/.*/, /^.*$/i, /(.*)/, /^\/(?!api|health).*$/, /.+/].map(String),
  ]
  t.strictSame(
    wild.filter(pattern => routePatternOf({ pattern }, '/users/12', redactor) !== '/users/*'),
    [],
  )
  const others = [
    '/',
    '/:page',
    '/:page?',
    '/files/*',
    '/api*',
    '/{*path}.html',
    '/users/:id(\\d+)',
    '/:path+',
    '/*/edit',
  ]
  for (const pattern of [...others, String(/^\/users\/.*$/), String(/^\/[\w-]+$/)])
    t.equal(routePatternOf({ pattern }, '/users/12', redactor), pattern)
})

t.test('without a route, paths that differ in numbers and ids only are one', async t => {
  t.equal(
    routePatternOf(undefined, '/users/12/cc0f3a1e-1111-4222-8333-444455556666/list-2', redactor),
    '/users/*/*/list-2',
  )
  t.equal(
    routePatternOf({ pattern: '*' }, '/bot123456789:aB3dE5fG7h/send', redactor),
    '/bot******/send',
    'a path is masked',
  )
})

t.test('functions without room are counted and timed, and the handler behind them has its own row', async t => {
  const trace = new Trace('abc123', createRequest(), undefined)
  const functions = middlewarePart.of(trace)
  const [called, code] = [3000, () => undefined]
  for (let count = 0; count < called; count++) functions.begin({ phase: 'middleware', name: 'log', code })
  functions.begin({ phase: 'handler', name: 'show', code })
  functions.finish()
  const { dropped, more, rows } = trace.events
  const named = (name: string) => rows.filter(row => row[1] === name).length
  t.strictSame([named('log') + dropped, named('show')], [called, 1])
  const [[start = -1, duration = 0] = []] = more?.toData().periods ?? []
  t.ok(dropped > 0 && start >= 0 && duration > 0)
})
