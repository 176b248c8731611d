import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { serve } from 'sinfonietta/server'
import { type Test, t } from 'tap'
import { completeBundles } from '#bin/application/complete-bundles.ts'
import { findDirectory } from '#bin/serving/own-program.ts'
import { parseConfig } from '#tests/support/parse-config.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { until } from '#tests/support/until.ts'
import { startProgram } from './site-process.ts'

/** An application in one file, without a package.json, folders and settings. */
const program = `import { Response } from 'sinfonietta'
import { serve } from 'sinfonietta/server'

await serve({
  bundles: [
    {
      name: 'hello',
      register({ routes, view }) {
        routes.get('hello', '/', () => Response.html('<html><body><h1>Hello!</h1></body></html>'))
        routes.get('hello_name', '/:name', (request, parameters) => Response.html(view.render('hello/name', parameters, request)))
      },
    },
  ],
})
`

/** Writes the application. Its folder is that of its package.json, which is not that of the program. */
function writeApplication(t: Test, text: string = program): string {
  const directory = realpathSync(t.testdir({ 'package.json': '{"type": "module"}', dist: { 'app.js': text } }))
  mkdirSync(path.join(directory, 'node_modules'))
  symlinkSync(path.resolve('.'), path.join(directory, 'node_modules/sinfonietta'))
  return directory
}

const secret = 'of one’s own, and long enough for production'

const startFile = (t: Test, file: string) =>
  startProgram(t, [process.execPath, '--enable-source-maps', file, '--port=0'])

t.test('an application in one file has the whole kernel in development', async t => {
  const directory = writeApplication(t)
  const template = path.join(directory, 'templates/hello/name.hbs')
  mkdirSync(path.dirname(template), { recursive: true })
  writeFileSync(template, '<p>Hello, {{name}}!</p>\n')
  const site = startFile(t, path.join(directory, 'dist/app.js'))
  const url = await site.url()
  const page = await fetch(url)
  t.equal(page.status, 200)
  t.match(await page.text(), '<h1>Hello!</h1>')
  const profile = await fetch(String(page.headers.get('x-debug-token-link')))
  t.match(await profile.text(), /hello/, 'the request has a profile')
  const missing = await fetch(`${url}/no/such/page`, { headers: { accept: 'text/html' } })
  t.equal(missing.status, 404)
  t.match(await missing.text(), /No route found for/, 'the error page has details')
  const greet = async () => (await fetch(`${url}/Ada`)).text()
  t.match(await greet(), '<p>Hello, Ada!</p>', 'a template beside package.json is found')
  writeFileSync(template, '<p>Good morning, {{name}}!</p>\n')
  await until(async () => (await greet()).includes('Good morning, Ada'))
  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0)
  t.match(site.stdout, /^Sinfonietta serves .* \(dev, debug on\)\n[\s\S]*hello_name/)
})

t.test('the queries of libraries that the program itself imports are recorded', { skip: lacksPostgres }, async t => {
  const server = await startPostgres(t)
  const directory = writeApplication(
    t,
    `import { Response } from 'sinfonietta'
     import { serve } from 'sinfonietta/server'
     import pg from 'pg'
     const pool = new pg.Pool(${JSON.stringify(server)})
     const show = async () => Response.json((await pool.query('SELECT 1 AS one')).rows)
     await serve({ bundles: [{ name: 'shop', register: ({ routes }) => void routes.get('home', '/', show) }] })
     await pool.end()`,
  )
  const site = startFile(t, path.join(directory, 'dist/app.js'))
  const page = await fetch(await site.url())
  t.strictSame(await page.json(), [{ one: 1 }])
  const profile = await fetch(`${page.headers.get('x-debug-token-link')}.json`)
  t.match(await profile.json(), { summary: { queries: 1 } })
  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0)
})

t.test('without APP_ENV, NODE_ENV=production makes it an application in production, with workers too', async t => {
  const file = path.join(writeApplication(t), 'dist/app.js')
  const start = (variables: NodeJS.ProcessEnv, ...options: string[]) =>
    startProgram(t, [process.execPath, file, '--port=0', ...options], { NODE_ENV: 'production', ...variables })
  const refused = start({})
  t.equal(await refused.end(), 1)
  t.match(refused.stderr, /APP_SECRET is not set; it must be a secret of its own/)
  const site = start({ APP_SECRET: secret }, '--workers=2')
  const url = await site.url()
  t.equal((await fetch(url)).status, 200)
  const missing = await fetch(`${url}/no/such/page`)
  t.notOk(missing.headers.has('x-debug-token'))
  t.notMatch(await missing.text(), /No route/)
  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0)
  t.match(site.stderr, /\(prod, debug off, 2 workers\)/)
})

t.test('a wrong list of bundles ends the program with a message', async t => {
  const directory = writeApplication(t, program.replace("name: 'hello'", "nam: 'hello'"))
  const site = startProgram(t, [process.execPath, path.join(directory, 'dist/app.js'), '--port=0'], {})
  t.equal(await site.end(), 1)
  t.match(site.stderr, /^The list of bundles is wrong: number 1 .*there is no key "nam"; the nearest is "name"/)
})

t.test('wrong options are refused', async t => {
  const refused: [options: unknown, message: string][] = [
    [{ bundels: [] }, 'serve(): there is no option "bundels"; the nearest is "bundles".'],
    [undefined, 'serve(): its options are an object with bundles, not undefined.'],
    [{ name: 'hello', register() {} }, 'serve(): there is no option "name": use bundles.'],
  ]
  for (const [options, message] of refused) {
    // Node runs TypeScript without a check of types.
    await t.rejects(serve(options as { bundles: [] }), { code: 'ARGUMENT_INVALID', message })
  }
})

t.test('bundles that every application has need not be listed, and may be', async t => {
  const hello = { name: 'hello', register() {} }
  const namesOf = async (APP_ENV: string, names: readonly string[] = []) => {
    const listed = names.map(name => ({ name, register() {} }))
    const bundles = await completeBundles([...listed, hello], parseConfig({ APP_ENV, APP_SECRET: secret }))
    t.ok(bundles.includes(hello))
    return bundles.map(({ name }) => name)
  }
  t.strictSame(await namesOf('prod'), ['framework', 'hello'])
  t.strictSame(await namesOf('dev'), ['framework', 'hello', 'maker', 'profiler'])
  const own = ['profiler', 'maker', 'framework']
  t.strictSame(await namesOf('dev', own), [...own, 'hello'])
})

t.test('its folder is that of the next package.json, or else that of the program', async t => {
  const directory = realpathSync(t.testdir({ 'package.json': '{}', dist: { sub: { 'app.js': '' } } }))
  t.equal(findDirectory(path.join(directory, 'dist/sub/app.js')), directory)
  t.equal(findDirectory(undefined), process.cwd(), 'without a program: the next one from the working directory')
})
