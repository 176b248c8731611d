import { readFileSync } from 'node:fs'
import path from 'node:path'
import * as esbuild from 'esbuild-wasm'
import { t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

t.test('a version that is too old to report its work is named once, when the application loads it', async t => {
  const library = (version: string, file: string) => {
    const [name = '', folder = ''] = file.split('/').toReversed()
    return {
      'package.json': JSON.stringify({ version, main: file }),
      ...(folder === '' ? { [name]: '' } : { [folder]: { [name]: '' } }),
    }
  }
  const cwd = t.testdir({
    'app.mjs':
      "import 'ioredis'\nimport 'redis'\nimport '@redis/client'\nimport 'mysql2'\nimport 'mongodb'\nimport 'graphql'\nimport './again.cjs'",
    'again.cjs': "require('ioredis')",
    node_modules: {
      ioredis: library('5.3.0', 'built/index.js'),
      redis: library('3.1.2', 'index.js'),
      '@redis': { client: library('5.12.0', 'dist/index.js') },
      graphql: library('15.10.1', 'type/schema.js'),
      mongodb: library('5.9.2', 'lib/index.js'),
      mysql2: library('3.19.1', 'lib/connection.js'),
      unused: { node_modules: { ioredis: library('4.0.0', 'built/index.js') } },
    },
  })
  const command = [process.execPath, '--import', preload, 'app.mjs']
  const { stderr } = await runProcess(t, command, { cwd, env: { ...environment, PROFILER_PORT: '0' } })
  const pattern = /[\w@/-]+ [\d.]+ does not report its (?:commands|queries|resolvers); \S+ does\./g
  const named = stderr.match(pattern) ?? []
  t.strictSame(named.sort(), [
    'graphql 15.10.1 does not report its resolvers; 16 does.',
    'ioredis 5.3.0 does not report its commands; 5.11 does.',
    'mongodb 5.9.2 does not report its queries; 6 does.',
    'mysql2 3.19.1 does not report its queries; 3.20 does.',
    'redis 3.1.2 does not report its commands; 5.12 does.',
  ])

  const source = `
    import http from 'node:http'
    import 'mysql2'
    const server = http.createServer(async (_, reply) => {
      await import('ioredis')
      reply.end()
    })
    server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
    process.stdin.on('end', () => process.exit()).resume()`
  const { url, viewer } = await startProfiled(t, source, {}, cwd)
  const read = async (target: string) => {
    await fetch(`${url}${target}`)
    const { summary } = await findProfile(viewer, target)
    const pages = ['database', 'cache'].flatMap(panel =>
      ['', '.md'].map(async form => (await fetch(`${viewer}/_profiler/${summary.token}${form}?panel=${panel}`)).text()),
    )
    return (await Promise.all(pages)).map(page => page.match(pattern)?.[0])
  }
  const database = 'mysql2 3.19.1 does not report its queries; 3.20 does.'
  const cache = 'ioredis 5.3.0 does not report its commands; 5.11 does.'
  t.strictSame(await read('/first'), [database, database, cache, cache])
})

t.test('an ES module is loaded before the application only if it is a dependency of it', async t => {
  const library = {
    'package.json': JSON.stringify({ version: '10.0.0', type: 'module', exports: './dist/croner.js' }),
    dist: { 'croner.js': "console.log('loaded croner'); export class Cron {}" },
  }
  const projects: Readonly<Record<string, readonly [project: object, isLoaded: boolean]>> = {
    unused: [{}, false],
    direct: [{ dependencies: { croner: '*' } }, true],
    tool: [{ devDependencies: { croner: '*' } }, true],
    behind: [{ dependencies: { wrapper: '*' } }, true],
    'tool of another': [{ dependencies: { other: '*' } }, false],
  }
  const wrapper = { 'package.json': JSON.stringify({ dependencies: { croner: '*' } }) }
  const other = { 'package.json': JSON.stringify({ devDependencies: { croner: '*' } }) }
  const root = t.testdir({
    node_modules: { croner: library, wrapper, other },
    ...Object.fromEntries(
      Object.entries(projects).map(([name, [project]]) => [
        name,
        { 'package.json': JSON.stringify(project), 'app.mjs': "console.log('app')", node_modules: {} },
      ]),
    ),
  })
  const found: unknown[] = []
  for (const name of Object.keys(projects)) {
    const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
    const cwd = path.join(root, name)
    const { stdout } = await runProcess(t, [process.execPath, '--import', preload, 'app.mjs'], { cwd, env })
    found.push([name, stdout])
  }
  const wanted = Object.entries(projects).map(([name, [, isLoaded]]) => [
    name,
    isLoaded ? 'loaded croner\napp\n' : 'app\n',
  ])
  t.strictSame(found, wanted)
})

/** Calls of libraries that no server answers, by their names. */
const calls: Readonly<Record<string, string>> = {
  pg: "new pg.Pool({ host: '127.0.0.1', port: 2 }).query('SELECT 1')",
  postgres: "postgres('postgres://127.0.0.1:2/a', { max: 1, connect_timeout: 1 })`SELECT 1`",
  mongodb: "new MongoClient('mongodb://127.0.0.1:2', { serverSelectionTimeoutMS: 50 }).connect()",
  memjs: "memjs.Client.create('127.0.0.1:2', { retries: 0, logger: { log() {} } }).get('a')",
  nodemailer: "nodemailer.createTransport({ host: '127.0.0.1', port: 2 }).sendMail({ from: 'a@b.de', to: 'b@c.de' })",
}

const copying = `
import { createServer } from 'node:http'
import memjs from 'memjs'
import { MongoClient } from 'mongodb'
import nodemailer from 'nodemailer'
import pg from 'pg'
import postgres from 'postgres'
const calls = { ${Object.entries(calls).map(([name, call]) => `${name}: () => ${call}`)} }
const server = createServer(async (request, response) => {
  await calls[request.url.slice(1)]?.().catch(() => {})
  response.end()
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
process.stdin.on('end', () => process.exit()).resume()`

t.test('a library that a bundler has put into an ES module is named once, in place of "none"', async t => {
  const cwd = t.testdir({ node_modules: {} })
  await esbuild.build({
    stdin: { contents: copying, resolveDir: root },
    ...{ outfile: path.join(cwd, 'dist/app.mjs'), bundle: true, minify: true, platform: 'node', format: 'esm' },
    banner: {
      js: "import { createRequire as $require } from 'node:module'; const require = $require(import.meta.url)",
    },
    ...{ external: ['pg-native'], logLevel: 'silent' },
  })
  const { output, stop, url, viewer } = await startProfiled(t, "import './dist/app.mjs'", {}, cwd)
  const read = async (target: string, panel: string) => {
    await (await fetch(`${url}/${target}`)).text()
    const { summary } = await findProfile(viewer, `/${target}`)
    const pages = ['', '.md'].map(async form => {
      const text = await (await fetch(`${viewer}/_profiler/${summary.token}${form}?panel=${panel}`)).text()
      return [...listed(text), ...(text.match(/No (?:queries|mail was sent|data)\b/g) ?? [])].sort()
    })
    return Promise.all(pages)
  }
  const listed = (text: string) =>
    Array.from(
      text.matchAll(/A bundler has put (\S+) into its own files, where its \w+ are not seen/g),
      ([, name]) => name,
    )
  t.strictSame(await read('none', 'mails'), [[], ['No mail was sent']], 'a library that has opened no connection')
  for (const name of Object.keys(calls)) await (await fetch(`${url}/${name}`)).text()
  t.strictSame(
    [await read('pg', 'database'), await read('memjs', 'cache'), await read('nodemailer', 'mails')],
    [['mongodb', 'pg', 'postgres'], ['memjs'], ['nodemailer']].map(names => [names, names]),
  )
  t.strictSame(listed(output.stderr).sort(), ['memjs', 'mongodb', 'nodemailer', 'pg', 'postgres'], 'once in the output')
  await stop()
})

t.test('an old copy in a bundle, which publishes nothing, is named', async t => {
  const readLibrary = (file: string) => readFileSync(path.join(root, 'node_modules', file), 'utf8')
  const files = ['mysql2/lib/base/connection.js', 'ioredis/built/Redis.js', '@redis/client/dist/lib/client/index.js']
  const connect = `eval("require('node:net').connect(2).on('error', () => {})\\n//# sourceURL=webpack-internal:///a")`
  // As webpack has modules in development: they are not called here.
  const properties = ['serverAddress', 'address']
  const sources = properties.map(property => {
    const modules = files.map(file => JSON.stringify(readLibrary(file).replaceAll('serverAddress', property)))
    return [`${property}.cjs`, `${connect}\nconst modules = [${modules}]\nconsole.log('ran')`]
  })
  const cwd = t.testdir(Object.fromEntries(sources))
  const found = await Promise.all(
    properties.map(async property => {
      const command = [process.execPath, '--import', preload, path.join(cwd, `${property}.cjs`)]
      const { stderr, stdout } = await runProcess(t, command, { cwd, env: { ...environment, PROFILER_PORT: '0' } })
      t.equal(stdout, 'ran\n')
      return Array.from(stderr.matchAll(/A bundler has put (\S+)/g), ([, name]) => name).sort()
    }),
  )
  t.strictSame(found, [[], ['ioredis', 'mysql2', 'node-redis']])
})

t.test('a file that is loaded has the stack that it has without the profiler', async t => {
  const cwd = t.testdir({
    node_modules: { pg: { 'package.json': '{ "name": "pg", "version": "8.0.0" }', lib: { 'client.js': '' } } },
    'app.cjs': "require('./other.cjs')",
    'other.cjs': 'console.log(new Error().stack)',
  })
  const [wanted, found] = await Promise.all(
    [[], ['--import', preload]].map(options =>
      runProcess(t, [process.execPath, ...options, 'app.cjs'], { cwd, env: { ...environment, PROFILER_PORT: '0' } }),
    ),
  )
  const nearest = (text = '') => text.slice(0, text.indexOf('app.cjs'))
  t.match(nearest(wanted?.stdout), 'Module.load')
  t.equal(nearest(found?.stdout), nearest(wanted?.stdout))
})
