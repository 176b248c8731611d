import { t } from 'tap'
import { isSecretName } from '#lib/redact/secret-names.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'
import { SecretPaths } from '#lib/routing/secret-paths.ts'

function create(...paths: string[]): { readonly routes: RouteCollection; readonly mask: SecretPaths['mask'] } {
  const routes = new RouteCollection()
  for (const path of paths) routes.add({ name: path, path, controller: undefined })
  return { routes, mask: new SecretPaths(routes, isSecretName).mask }
}

t.test('values of secret variables are masked wherever the path occurs', async t => {
  const { mask } = create('/lab/reset/:token', '/a b/:user/:apiKey.json{/:page}', '/files/*secret', '/:session')
  for (const [text, masked] of Object.entries({
    '/lab/reset/abc': '/lab/reset/******',
    'http://host/lab/reset/a%20c?x=1': 'http://host/lab/reset/******?x=1',
    'No route found for "POST http://host/lab/reset/abc"': 'No route found for "POST http://host/lab/reset/******"',
    '/lab/reset/abc/done, /lab/reset/def': '/lab/reset/******/done, /lab/reset/******',
    '/a%20b/ada/abc.json': '/a%20b/ada/******.json',
    '/a b/ada/abc.json/2': '/a b/ada/******.json/2',
    '/files/a/b/c': '/files/******',
    'https://host:80/abc': 'https://host:80/******',
    '/abc and /srv/file.ts': '/abc and /srv/file.ts',
    '/lab/reset/': '/lab/reset/',
  })) {
    t.equal(mask(text), masked)
    t.equal(mask(masked), masked, 'again')
  }
})

t.test('the fixed path of another route is not masked', async t => {
  const { mask } = create('/reset/:token', '/reset/help')
  t.equal(mask('/reset/help and /reset/abc'), '/reset/help and /reset/******')
})

t.test('a route names the variables that are not secret', async t => {
  const { mask, routes } = create('/reset/:token')
  routes.add({ name: 'p', path: '/profile/:token/:key', controller: undefined, defaults: { _public: ['token'] } })
  t.equal(mask('/profile/a/b and /reset/c'), '/profile/a/****** and /reset/******')
})

t.test('routes may come later, and without secrets nothing is done', async t => {
  const { mask, routes } = create('/item/:id')
  t.equal(mask('/item/1 /key/2'), '/item/1 /key/2')
  routes.add({ name: 'key', path: '/key/:key', controller: undefined })
  t.equal(mask('/item/1 /key/2'), '/item/1 /key/******')
})

t.test('a long text without a path takes no longer than others', async t => {
  const { mask } = create('/:session', '/:key/:id')
  const text = 'a'.repeat(2_000_000)
  const begin = process.cpuUsage()
  t.equal(mask(text), text)
  // Some 10 ms of CPU time, whatever else the machine does; looked behind at each character, 10 s.
  t.ok(process.cpuUsage(begin).user < 2_000_000)
})
