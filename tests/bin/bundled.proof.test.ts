import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import * as esbuild from 'esbuild-wasm'
import { rollup } from 'rollup'
import { t } from 'tap'
import webpack from 'webpack'
import { startProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'

const root = path.resolve(import.meta.dirname, '../../..')

/** An application that is profiled by an import: a bundler may drop what nothing is imported from. */
const source = `
import 'sinfonietta/profile'
import { createServer } from 'node:http'
const server = createServer((_, reply) => reply.end('ok')).listen(0, '127.0.0.1', () => {
  process.stdout.write(server.address().port + '\\n')
})
process.stdin.on('end', () => process.exit()).resume()
`

/** Writes a module of a folder as the file `out/app.mjs`, with a source map. */
type Bundler = (folder: string, entry: string) => Promise<unknown>

const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: (folder, entry) =>
    esbuild.build({
      entryPoints: [path.join(folder, entry)],
      outfile: path.join(folder, 'out/app.mjs'),
      banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
      ...{ bundle: true, platform: 'node', format: 'esm', sourcemap: true, minify: true, logLevel: 'silent' },
    }),
  async rollup(folder, entry) {
    const plugins = [nodeResolve({ preferBuiltins: true })]
    // They are CommonJS modules.
    const external = ['express', 'ioredis']
    const bundle = await rollup({ input: path.join(folder, entry), external, plugins, onwarn: () => undefined })
    await bundle.write({ dir: path.join(folder, 'out'), entryFileNames: 'app.mjs', format: 'esm', sourcemap: true })
  },
  async webpack(folder, entry) {
    const compiler = webpack({
      mode: 'production',
      target: 'node20',
      context: folder,
      entry: `./${entry}`,
      devtool: 'source-map',
      optimization: { minimize: false, nodeEnv: false },
      experiments: { outputModule: true },
      output: { path: path.join(folder, 'out'), filename: 'app.mjs', module: true },
    })
    await new Promise<void>((resolve, reject) => {
      compiler?.run((error, stats) => {
        if (error != null || stats?.hasErrors()) reject(error ?? new Error(stats?.toString('errors-only')))
        else resolve()
      })
    })
  },
}

for (const [name, bundle] of Object.entries(bundlers)) {
  t.test(`${name} keeps the import of sinfonietta/profile, and the bundle is recorded`, async t => {
    const folder = t.testdir({ 'app.mjs': source, node_modules: {} })
    symlinkSync(root, path.join(folder, 'node_modules/sinfonietta'))
    await bundle(folder, 'app.mjs')
    const child = startProcess(t, [process.execPath, 'out/app.mjs'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_ENV: '', PROFILER_PORT: '0' },
    })
    const [port] = await once(child.stdout ?? child, 'data')
    const { headers } = await fetch(`http://127.0.0.1:${String(port).trim()}/`)
    t.match(headers.get('x-debug-token'), /^[\da-f]{12}$/)
    child.stdin?.end()
    await once(child, 'exit')
  })
}

/** A shop with its modules; the lines that profiles name have a comment. */
const shop = {
  'app.js': `
import { createServer } from 'node:http'
import express from 'express'
import { Redis } from 'ioredis'
import { count } from './prime numbers.js'
import { fail } from './shelf.js'

const client = new Redis(Number(process.env.REDIS_PORT), '127.0.0.1')
const app = express()

app.get('/page', async function showPage(request, response) {
  const numbers = count(40_000)
  await client.get('price').catch(() => 0) // the query
  console.log(numbers) // the message
  fail('A') // the call
})

client.once('ready', () => {
  const server = createServer(app).listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
})
process.stdin.on('end', () => process.exit()).resume()
`,
  'prime numbers.js': `
// Slow, for profiles.
export function count(limit) { // the function
  let found = 0
  for (let number = 2; number < limit; number++) {
    let divisor = 2

    while (number % divisor !== 0) divisor++ // the hot line
    if (divisor === number) found++
  }
  return found
}
`,
  'shelf.js': `
export const fail = name => {
  // It is empty.
  throw new RangeError('The shelf ' + name + ' is empty.') // the error
}
`,
}

function placeOf(text: string): { readonly file: string; readonly line: number } {
  const [name = '', code = ''] = Object.entries(shop).find(([, code]) => code.includes(text)) ?? []
  return { file: `src/${name}`, line: code.slice(0, code.indexOf(text)).split('\n').length }
}

for (const [name, bundle] of Object.entries(bundlers)) {
  t.test(`the places of a profile are in the sources of a bundle by ${name}`, { skip: lacksRedis }, async t => {
    const cwd = t.testdir({ 'package.json': '{}', src: shop, out: { 'package.json': '{ "type": "module" }' } })
    await bundle(cwd, 'src/app.js')
    const { port } = await startRedis(t)
    const env = { REDIS_PORT: `${port}` }
    const { stop, url, viewer } = await startProfiled(t, "import './out/app.mjs'", env, cwd)
    const post = (target: string, fields: Readonly<Record<string, string>>) =>
      fetch(viewer + target, { method: 'POST', body: new URLSearchParams(fields), headers: { origin: viewer } })
    await post('/_profiler/cpu/arm', { method: 'GET', path: '/page' })
    const stack = await (await fetch(`${url}/page`)).text()
    t.match(stack, 'out/app.mjs', 'the application has its own stack')
    const { data } = await findProfile(viewer, '/page')
    t.match(data.queries, { queries: [{ caller: placeOf('// the query') }] })
    t.match(data.console, { entries: [{ site: placeOf('// the message') }] })
    const [error, call] = [placeOf('// the error'), placeOf('// the call')]
    t.match(data.exception, { exceptions: [{ frames: [error, call] }], excerpts: [error, call] })
    const { line: hot } = placeOf('// the hot line')
    const hottest = { ...placeOf('// the function'), hot: name === 'esbuild' ? undefined : hot, origin: 'application' }
    t.match(data.cpu, { functions: [hottest] })
    const at = `${error.file}:${error.line}`
    const opened = await (await post('/_profiler/open-editor', { at, editor: 'vscode' })).json()
    t.match(opened, { link: `vscode://file${path.join(cwd, at)}` })
    await stop()
  })
}
