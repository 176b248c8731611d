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

t.test('paths of other routers are learned from the parameters of their requests', async t => {
  const paths = new SecretPaths(new RouteCollection(), isSecretName)
  paths.learn('/reset/Kq3/', '/reset/:token/', { token: 'Kq3' })
  paths.learn('/reset/help', '/reset/help', {})
  paths.learn('/a/7/k%2F1/edit', '/a/:id(\\d+)/:key/edit', { id: '7', key: 'k/1' })
  paths.learn('/files/a/b/x/y', '/files/:dir*/*secret', { dir: ['a', 'b'], secret: ['x', 'y'] })
  paths.learn('/mail/7-Kq3.json', '/mail/{id}-{token}.json', { id: '7', token: 'Kq3' })
  paths.learn('/token/token', '/token/:token', { token: 'token' })
  paths.learn('/Kq3', '/:session', { session: 'Kq3' })
  paths.learn('/plain/7', '/plain/:id', { id: '7' })
  paths.learn('/elsewhere/7', undefined, { token: 'Kq3', key: '', pin: undefined })
  for (const [text, masked] of Object.entries({
    'visit /reset/def/ from http://h/RESET/abc?x=1': 'visit /reset/******/ from http://h/RESET/******?x=1',
    '/reset/help and /reset/:token': '/reset/help and /reset/:token',
    '/a/8/other/edit': '/a/8/******/edit',
    '/a/:id(\\d+)/:key/edit': '/a/:id(\\d+)/:key/edit',
    '/files/c/d/e': '/files/c/d/******',
    '/mail/8-xyz.json': '/mail/******',
    '/token/Zv7': '/token/******',
    'http://h/Zv7': 'http://h/******',
    '/plain/8 /elsewhere/8': '/plain/8 /elsewhere/8',
    [JSON.stringify({ a: '/reset/abc\n/reset/def"' })]: JSON.stringify({ a: '/reset/******\n/reset/******"' }),
  })) {
    t.equal(paths.mask(text), masked)
    t.equal(paths.mask(masked), masked, 'again')
  }
  for (let at = 0; at < 300; at++) paths.learn(`/x${at}/Kq3`, undefined, { token: 'Kq3' })
  t.equal(paths.mask('/reset/abc /x299/abc'), '/reset/abc /x299/******', 'the oldest paths are forgotten')
})

t.test('a long text without a path takes no longer than others', async t => {
  const { mask } = create('/:session', '/:key/:id')
  const text = 'a'.repeat(2_000_000)
  const begin = process.cpuUsage()
  t.equal(mask(text), text)
  // Some 10 ms of CPU time, whatever else the machine does; looked behind at each character, 10 s.
  t.ok(process.cpuUsage(begin).user < 2_000_000)
})

t.test('values of secret parameters are masked wherever they are, while the profile of a request is made', async t => {
  const paths = new SecretPaths(new Set(), isSecretName)
  const hide = (value: string, text: string, name = 'token', sent = value, masked = '') =>
    paths.hide(`/api/reset/${sent}`, masked, { [name]: value, page: 'page77' }, () => paths.mask(text))
  t.strictSame(
    [
      hide('S3cretKq', '/S3cretKq, reset S3cretKq?a=1'),
      hide('S3cretKq', '{"text":"S3cr%65tKq"}', 'token', 'S3cr%65tKq'),
      hide('S3cretKq', 'S3cretKq', 'name'),
      hide('S3cretKq', '{"x":["reset","S3cretKq"]}', 'x', 'S3cr%65tKq', '/api/reset/******'),
      // Numbers, and names of fields and kinds, are parts of JSON.
      hide('123456', '{"time":1234567}'),
      hide('duration', '{"duration":1}'),
      hide('a1', 'a1'),
      hide('S3cretKq', 'page77'),
      paths.mask('S3cretKq'),
    ],
    [
      '/******, reset ******?a=1',
      '{"text":"******"}',
      'S3cretKq',
      '{"x":["reset","******"]}',
      '{"time":1234567}',
      '{"duration":1}',
      'a1',
      'page77',
      'S3cretKq',
    ],
  )
})
