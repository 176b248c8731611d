import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { findPort } from '../../dist/tests/support/find-port.js'
import { startPostgres } from '../../dist/tests/support/start-postgres.js'
import { startProcess } from '../../dist/tests/support/start-process.js'
import { until } from '../../dist/tests/support/until.js'

const root = path.join(import.meta.dirname, '../..')
const sources = path.join(import.meta.dirname, 'applications')

/** @typedef {(target: string, init?: RequestInit) => Promise<string>} Visit */

/**
 * Each framework with the dependencies of its application, the requests before its picture, the
 * page that the picture shows, and its height.
 *
 * @type {readonly (readonly [name: string, dependencies: readonly string[], page: (visit: Visit)
 * => Promise<string>, height: number])[]}
 */
const frameworks = [
  ['express', ['express', 'pg'], visit => visit('/articles'), 590],
  ['fastify', ['fastify'], async visit => `${await visit('/orders/7/invoice')}?panel=exception`, 640],
  ['koa', ['koa', '@koa/router'], async visit => `${await visit('/basket')}?panel=time#timeline`, 720],
  ['hono', ['hono', '@hono/node-server'], async visit => `${await visit('/login', login)}?panel=console`, 520],
  ['nest', ['@nestjs/common', '@nestjs/core'], async visit => `${await visit('/cats/7')}?panel=events`, 740],
  [
    'node-http',
    [],
    async visit => {
      for (const target of ['/', '/users/7', '/users/8', '/nowhere', '/users/9', '/prices/star']) await visit(target)
      return 'routes'
    },
    420,
  ],
]

const login = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'ada@example.org', password: 'correct horse', remember: false }),
}

/** Takes a picture of an application of each framework, which runs under the profiler. @param {import('./camera.js').Camera} camera */
export async function takeFrameworks(camera) {
  await inFolder(async (test, folder) => {
    const variables = await startDatabase(test)
    for (const [name, dependencies, page, height] of frameworks) {
      const { stop, url, viewer } = await start(test, path.join(folder, name), dependencies, variables)
      /** @type {Visit} */
      const visit = async (target, init) => {
        const response = await fetch(url + target, init)
        await response.text()
        return String(response.headers.get('x-debug-token'))
      }
      // The third time everything is compiled, and takes as long as it does.
      for (const _ of [1, 2]) await page(visit)
      const place = await page(visit)
      await camera.take(name, `${viewer}${place}`, { width: 1040, height })
      await stop()
    }
  })
}

/**
 * Works in a temporary folder, with what ends as a test does.
 *
 * @param {(test: import('tap').Test, folder: string) => Promise<void>} work
 */
export async function inFolder(work) {
  /** @type {(() => unknown)[]} */
  const ends = []
  const test = /** @type {import('tap').Test} */ (/** @type {unknown} */ ({ teardown: end => ends.unshift(end) }))
  const folder = mkdtempSync(path.join(tmpdir(), 'screenshots-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  await work(test, folder)
  for (const end of ends) await end()
}

/** Starts a PostgreSQL. Returns the variables by which pg finds it. @param {import('tap').Test} test */
export async function startDatabase(test) {
  const { database, host, port, user } = await startPostgres(test)
  return { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database }
}

/**
 * Starts an application in a folder of its own, as its developer would.
 *
 * @param {import('tap').Test} test
 * @param {string} directory
 * @param {readonly string[]} dependencies
 * @param {Readonly<Record<string, string>>} variables
 */
export async function start(test, directory, dependencies, variables) {
  // The profiles are stored in its own node_modules; the packages are in those of the folder above.
  mkdirSync(path.join(directory, 'node_modules'), { recursive: true })
  cpSync(path.join(sources, `${path.basename(directory)}.js`), path.join(directory, 'app.js'))
  const manifest = { type: 'module', dependencies: Object.fromEntries(dependencies.map(name => [name, '*'])) }
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify(manifest))
  const port = await findPort()
  const { NODE_ENV: _, ...env } = process.env
  const child = startProcess(test, [process.execPath, path.join(root, 'bin/sinfonietta'), 'profile', 'app.js'], {
    cwd: directory,
    env: { ...env, ...variables, PORT: String(port), PROFILER_PORT: '0' },
  })
  let output = ''
  child.stderr?.on('data', text => {
    output += text
  })
  const url = `http://127.0.0.1:${port}`
  await until(() => output.includes('\n'))
  // Any answer: a request without a profile.
  await until(() =>
    fetch(`${url}/favicon.ico`, { headers: { 'x-profiler': 'off' } }).then(
      () => true,
      () => false,
    ),
  )
  const [, viewer = ''] = /^Profiler: (\S+)/.exec(output) ?? []
  const stop = async () => {
    child.kill()
    await once(child, 'exit')
  }
  return { stop, url, viewer }
}
