import { t } from 'tap'
import { routePatternOf } from '#bundles/profiler/record/middleware-trace.ts'

t.test('a pattern that is a wildcard alone does not make all pages one route', async t => {
  const wild = [
    ...['*', '/*', '/**', '/*splat', '/{*splat}', '{/*path}', '(.*)', '/(.*)', '/:page(.*)', '/:page*', '/:path+(.*)'],
    ...[/.*/, /^.*$/i, /(.*)/, /^\/(?!api|health).*$/, /.+/].map(String),
  ]
  t.strictSame(
    wild.filter(pattern => routePatternOf({ pattern }, '/users/12') !== '/users/*'),
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
    t.equal(routePatternOf({ pattern }, '/users/12'), pattern)
})

t.test('without a route, paths that differ in numbers and ids only are one', async t => {
  t.equal(routePatternOf(undefined, '/users/12/cc0f3a1e-1111-4222-8333-444455556666/list-2'), '/users/*/*/list-2')
})
