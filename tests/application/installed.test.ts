import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { listPackageFolders } from '#bin/application/sources.ts'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { createProject } from '#tests/support/project.ts'
import { runProcess } from '#tests/support/start-process.ts'

const files = {
  'package.json': '{ "name": "my-site", "type": "module" }',
  'bundles/home/home-bundle.js': `import { Response } from 'sinfonietta'
import { fail } from 'a-library'

export const homeBundle = {
  name: 'home',
  register(app) {
    const { logger, routes, view } = app
    routes.add({
      name: 'home',
      path: '/',
      controller: async request => Response.html(await view.render('home/page', { name: 'Ada' }, request)),
    })
    routes.add({ name: 'lost', path: '/lost', controller: () => loseOrder(logger) })
    routes.add({ name: 'library', path: '/library', controller: () => fail() })
    routes.add({
      name: 'call',
      path: '/call',
      controller: async ({ query }) => Response.text(await (await fetch(String(query.get('url')))).text()),
    })
  },
}

function loseOrder(logger) {
  logger.warning('An order is lost.')
  throw new TypeError('The order 42 is lost.')
}
`,
  'bundles/home/assets/home.css': 'body { color: teal }',
  'templates/home/page.hbs': `<link rel="stylesheet" href="{{asset 'home/home.css'}}"><h1>Hello, {{name}}</h1>`,
  'templates/framework/error.hbs': '<body><h1>Sorry: {{status}}</h1></body>',
  'node_modules/a-library/package.json': '{ "name": "a-library", "type": "module", "exports": "./index.js" }',
  'node_modules/a-library/index.js': "export function fail() { throw new Error('The library failed.') }\n",
  'ask.js': `import { createServer } from 'node:http'
import { createFrameworkBundle } from 'sinfonietta'
import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'
import { createTestKernel } from 'sinfonietta/testing'
import { homeBundle } from './bundles/home/home-bundle.js'

const init = { bundles: [createFrameworkBundle(), homeBundle], directory: import.meta.dirname }
const editor = { EDITOR_URL: 'x:{file}' }
const development = await createProfiledTestKernel({ ...init, variables: editor })
const production = await createTestKernel({ ...init, variables: { APP_ENV: 'prod' } })
const answers = {}
async function ask(name, target, { client } = development) {
  const { headers, status, text } = await client.get(target)
  answers[name] = { status, text, token: headers.get('x-debug-token'), type: headers.get('content-type') }
  return answers[name]
}

const { text } = await ask('page', '/')
await ask('asset', /href="([^"]+home\\.css)"/.exec(text)[1])
await ask('production', '/lost', production)
await ask('missing', '/nowhere', production)
const lost = await ask('lost', '/lost')
const { token } = await ask('library', '/library')
const other = createServer((_request, response) => response.end('pong')).listen(0, '127.0.0.1')
await new Promise(resolve => other.once('listening', resolve))
const call = await ask('call', '/call?url=' + encodeURIComponent('http://127.0.0.1:' + other.address().port))
other.close()
const list = await ask('list', '/_profiler/empty/search/results?limit=10')
await ask('styles', /href="([^"]+profiler\\.css)"/.exec(list.text)[1])
await ask('script', '/_profiler/assets/' + /assets\\/(\\w+\\/[\\w-]+\\.js)"/.exec(list.text)[1])
const of = token => ({ headers: new Map([['x-debug-token', token]]) })
const profiles = {}
for (const [name, answer] of Object.entries({ lost, library: { token }, call })) {
  profiles[name] = await development.profileOf(of(answer.token))
}
await ask('profile', '/_profiler/' + lost.token + '?panel=exception')
await ask('listeners', '/_profiler/' + lost.token + '?panel=events')
await development.close()
await production.close()
const templates = development.app.view.files().filter(({ replaces }) => replaces)
process.stdout.write(JSON.stringify({ answers, templates, profiles }))
`,
}

/**
 * Makes an application, and installs the package there as the tarball has it, or as a link to this repository. Its
 * dependencies are links to those of this project.
 */
function makeApplication(t: Test, isLinked: boolean): string {
  const directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'sinfonietta-')))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const own = path.join(directory, 'node_modules/sinfonietta')
  mkdirSync(path.dirname(own))
  for (const name of readdirSync('node_modules').filter(name => !name.startsWith('.') && name !== 'sinfonietta')) {
    symlinkSync(path.resolve('node_modules', name), path.join(directory, 'node_modules', name))
  }
  if (isLinked) symlinkSync(path.resolve('.'), own)
  else copyPackage(own)
  return createProject(directory, files)
}

function copyPackage(own: string): void {
  const { files: published }: { files: readonly string[] } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const name of ['package.json', ...published.filter(name => !/^[!]|^docs$|\.md$/.test(name))]) {
    cpSync(name, path.join(own, name), { recursive: true, filter: file => !file.endsWith('.map') })
  }
}

t.test('an application in an empty directory has all pages of the package', async t => {
  const directory = t.testdir()
  const bundles = [createFrameworkBundle()]
  const { app, client, close } = await createProfiledTestKernel({ bundles, directory })
  t.teardown(close)
  const missing = await client.get('/nowhere')
  t.match(missing.text, '/nowhere')
  t.match(missing.text, '/_profiler/assets/')
  for (const panel of ['request', 'exception', 'templates', 'events']) {
    const page = await client.get(`/_profiler/${missing.headers.get('x-debug-token')}?panel=${panel}`)
    t.equal(page.status, 200, panel)
    const [, styles = ''] = /href="([^"]+profiler\.css)"/.exec(page.text) ?? []
    t.equal((await client.get(styles)).status, 200)
  }
  t.equal((await client.get(String(app.files.url('framework/error.css')))).status, 200)
  t.strictSame(readdirSync(directory), [], 'nothing is written')

  const production = await createTestKernel({ bundles, directory, variables: { APP_ENV: 'prod' } })
  t.teardown(production.close)
  t.match((await production.client.get('/nowhere')).text, 'Page not found')
})

t.test('in the repository of the package nothing is listed twice; assets of the profiler are not public', async t => {
  const { app, client, close } = await createProfiledTestKernel({ bundles: [createFrameworkBundle()] })
  t.teardown(close)
  const files = app.view.files()
  t.equal(new Set(files.map(({ file }) => file)).size, files.length)
  t.strictSame(
    files.filter(({ replaces }) => replaces !== undefined),
    [],
  )
  t.ok(existsSync('bundles/profiler/assets/styles/list.css'))
  t.equal((await client.get('/assets/profiler/styles/list.css')).status, 404)
})

t.test('templates and assets of a package are watched if it is a link', async t => {
  t.strictSame(listPackageFolders('/app', '/app/node_modules/sinfonietta'), [])
  t.strictSame(listPackageFolders('/app', '/clone'), ['/clone/bundles', '/clone/templates'])
  t.strictSame(listPackageFolders('/clone', '/clone'), [])
})

/** Where code of the package is shown: only a repository has source maps. */
const places = { installed: (file: string) => `dist/${file}.js`, linked: (file: string) => `${file}.ts` }

for (const kind of ['installed', 'linked'] as const) {
  t.test(`an application sees its own files first, then those of the ${kind} package`, async t => {
    const directory = makeApplication(t, kind === 'linked')
    const own = realpathSync(path.join(directory, 'node_modules/sinfonietta'))
    const { stdout } = await runProcess(t, [process.execPath, '--enable-source-maps', 'ask.js'], { cwd: directory })
    const { answers, profiles, templates } = JSON.parse(stdout)

    t.match(answers.page, { status: 200, text: '<h1>Hello, Ada</h1>' })
    t.match(answers.asset, { status: 200, text: 'body { color: teal }', type: /^text\/css/ })
    t.match(answers.production, { status: 500, text: '<body><h1>Sorry: 500</h1></body>' })
    t.match(answers.missing, { status: 404, text: '<body><h1>Sorry: 404</h1></body>' })
    t.strictSame(templates, [
      {
        name: 'framework/error',
        file: `${directory}/templates/framework/error.hbs`,
        replaces: `${own}/templates/framework/error.hbs`,
      },
    ])

    for (const name of ['list', 'profile', 'listeners'])
      t.match(answers[name], { status: 200, type: /^text\/html/ }, name)
    t.match(answers.styles, { status: 200, type: /^text\/css/, text: ':root' })
    t.match(answers.script, { status: 200, type: /^text\/javascript/, text: 'followSources' })
    t.match(answers.listeners.text, `x:${own}/${places[kind]('bundles/framework/listeners/router-listener')}`)

    t.match(answers.lost, { status: 500, text: /frame-application[\s\S]*bundles\/home\/home-bundle\.js:25/ })
    t.match(answers.lost.text, 'The order 42 is lost.')
    t.match(answers.lost.text, `x:${directory}/bundles/home/home-bundle.js`)
    t.match(answers.profile.text, `x:${own}/${places[kind]('kernel/http-kernel')}`, 'the editor opens the package, too')
    const [{ frames }] = profiles.lost.data.exception.exceptions
    t.match(frames[0], { call: 'loseOrder', file: 'bundles/home/home-bundle.js', line: 25, origin: 'application' })
    t.match(frames[2], { file: `sinfonietta/${places[kind]('kernel/http-kernel')}`, origin: 'kernel' })
    t.match(profiles.lost.data.exception.excerpts, [
      { file: 'bundles/home/home-bundle.js', line: 25 },
      { file: 'bundles/home/home-bundle.js', line: 13 },
    ])
    t.match(profiles.lost.data.exception.excerpts[1].lines[5], 'controller: () => loseOrder(logger)')
    t.match(profiles.lost.data.logger.records[1], { site: { file: 'bundles/home/home-bundle.js', line: 24 } })

    t.match(profiles.library.data.exception.exceptions[0].frames, [
      { file: 'node_modules/a-library/index.js', origin: 'vendor', package: 'a-library' },
      { file: 'bundles/home/home-bundle.js', origin: 'application' },
    ])
    t.match(profiles.library.data.exception.excerpts, [{ file: 'bundles/home/home-bundle.js', line: 14 }])
    t.match(profiles.call.data.http.calls, [{ caller: { file: 'bundles/home/home-bundle.js', line: 18 } }])
  })
}
