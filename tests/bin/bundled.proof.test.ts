import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import path from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import * as esbuild from 'esbuild-wasm'
import { rollup } from 'rollup'
import { t } from 'tap'
import webpack from 'webpack'
import { startProcess } from '#tests/support/start-process.ts'

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

/** Writes the file `app.mjs` of a folder as one file, and returns its path. */
type Bundler = (folder: string) => Promise<string>

const bundlers: Readonly<Record<string, Bundler>> = {
  async esbuild(folder) {
    const outfile = path.join(folder, 'out/app.mjs')
    const entryPoints = [path.join(folder, 'app.mjs')]
    await esbuild.build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' })
    return outfile
  },
  async rollup(folder) {
    const plugins = [nodeResolve({ preferBuiltins: true })]
    const bundle = await rollup({ input: path.join(folder, 'app.mjs'), plugins, onwarn: () => undefined })
    const file = path.join(folder, 'out/app.mjs')
    await bundle.write({ file, format: 'esm' })
    return file
  },
  async webpack(folder) {
    const compiler = webpack({
      mode: 'production',
      target: 'node20',
      context: folder,
      entry: './app.mjs',
      optimization: { minimize: false },
      experiments: { outputModule: true },
      output: { path: path.join(folder, 'out'), filename: 'app.mjs', module: true },
    })
    await new Promise<void>((resolve, reject) => {
      compiler?.run((error, stats) => {
        if (error != null || stats?.hasErrors()) reject(error ?? new Error(stats?.toString('errors-only')))
        else resolve()
      })
    })
    return path.join(folder, 'out/app.mjs')
  },
}

for (const [name, bundle] of Object.entries(bundlers)) {
  t.test(`${name} keeps the import of sinfonietta/profile, and the bundle is recorded`, async t => {
    const folder = t.testdir({ 'app.mjs': source, node_modules: {} })
    symlinkSync(root, path.join(folder, 'node_modules/sinfonietta'))
    const file = await bundle(folder)
    const child = startProcess(t, [process.execPath, file], {
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
