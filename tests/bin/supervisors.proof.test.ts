import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import { createSources, runsTypeScript } from '#bin/application/sources.ts'
import { packageDirectory } from '#lib/package.ts'
import { childrenOf } from '#tests/support/children-of.ts'
import { startEagerClients } from '#tests/support/eager-clients.ts'
import { findPort } from '#tests/support/find-port.ts'
import { createChangingSite } from '#tests/support/supervised-site.ts'
import { until } from '#tests/support/until.ts'
import { pause, startApplication, startApplicationProgram, startFixture, startProgram } from './site-process.ts'

/** Options of a test of the compiler. */
const compiled = { skip: runsTypeScript && 'Node runs the sources' }

const { add, bundle, directory, inCopy } = createChangingSite(t)
await createSources(directory).build()

/** The program that a debugger finds at a port. */
async function inspected(port: number): Promise<unknown> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { title: string }[]
  return targets[0]?.title
}

t.test('where Node runs the sources, nothing is compiled before a restart', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const stamp = () => statSync(path.join(copy, 'dist/.built'), { throwIfNoEntry: false })?.mtimeMs
  const before = stamp()
  const other = startApplicationProgram(t, ['supervise', copy, '--port=0'])
  const first = await other.url()
  writeFileSync(path.join(copy, 'bundles/other.ts'), 'export const wrong: number = ""\n')
  t.equal(await other.url(), first)
  t.equal(stamp(), before)
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('while the application cannot start, a page waits for it at its port', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const file = path.join(copy, bundle)
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, `${text}\nthrow new Error('on purpose')\n`)
  const address = `http://127.0.0.1:${await findPort()}`
  const other = startApplicationProgram(t, ['serve', copy, `--port=${new URL(address).port}`])
  await other.until(/The site has ended \(exit code 1\): waiting/)
  const wait = async (status: number) => {
    await until(async () => (await fetch(address).catch(() => undefined))?.status === status, 20)
    return fetch(address)
  }
  const held = await wait(503)
  t.match(held.headers.get('cache-control'), 'no-store')
  const page = await held.text()
  t.match(page, /The application does not run<\/strong> 1 mistake[\s\S]*on purpose/)
  const lines = text.split('\n').length
  t.match(page, new RegExp(`data-at="\\d+">bundles/home/home-bundle\\.ts:${lines + 1}<`), 'the place')
  t.match(page, 'class="line-number"', 'the source')
  const foreign = await (await fetch(address, { headers: { 'x-forwarded-for': '192.0.2.7' } })).text()
  t.match(foreign, /http-equiv="refresh"[\s\S]*The application does not run/)
  t.notMatch(foreign, 'on purpose', 'not for a client without debug output')
  const list = await fetch(`${address}/_profiler/`)
  t.equal(list.status, 200, 'earlier profiles can be read')
  writeFileSync(file, text)
  t.equal(await other.url(), address)
  t.match(await (await wait(200)).text(), '</body></html>')
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('a process that does not stop is killed, and the next one serves meanwhile', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const file = path.join(copy, bundle)
  const text = readFileSync(file, 'utf8')
  const route =
    "app.routes.add({ name: 'hang', path: '/hang', controller: () => { console.log('It hangs.'); for (;;); } })"
  writeFileSync(file, text.replace('register(app: Application) {\n', `$&    ${route}\n`))
  const other = startApplicationProgram(t, ['superviseHastily', copy, '--port=0'])
  const address = await other.url()
  const hanging = fetch(`${address}/hang`).catch(() => 'closed')
  await other.until(/It hangs\./)
  writeFileSync(file, text)
  await other.url()
  t.equal((await fetch(address)).status, 200)
  t.equal(await hanging, 'closed')
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('a taken port is reported in one line, and the supervisor ends', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = startApplication(t, directory, [`--port=${port}`])
  t.equal(await other.end(), 64)
  t.equal(other.stderr, `Port ${port} of 127.0.0.1 is taken by another program; choose another one with --port.\n`)
})

t.test('a port that another program takes during the start is reported, and the supervisor ends', async t => {
  const copy = t.testdir()
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true })
  const go = path.join(copy, 'go')
  const wait = `while (!existsSync(${JSON.stringify(go)})) await new Promise(resolve => setTimeout(resolve, 20))`
  const text = `\nimport { existsSync } from 'node:fs'\nconsole.log('It waits.')\n${wait}\n`
  appendFileSync(path.join(copy, bundle), text)
  const port = await findPort()
  const other = startApplication(t, copy, [`--port=${port}`])
  await other.until(/It waits\./)
  const server = createServer().listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  writeFileSync(go, '')
  t.equal(await other.end(), 64)
  t.match(other.stderr, `Port ${port} of 127.0.0.1 is taken by another program; choose another one with --port.\n`)
})

t.test('no connection is reset while SIGTERM ends the supervisor, which has a process that waits', async t => {
  const other = startApplication(t, directory)
  const { port } = new URL(await other.url())
  const isServer = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('next-process.js')
  const servers = () => childrenOf(other.child.pid).filter(isServer)
  await until(() => servers().length === 2, 50)
  const counted = startEagerClients(Number(port), '/')
  await other.until(/GET \/ 200/)
  // On a busy machine the process that waits has no time to end, and it has the socket, too.
  process.kill(Math.max(...servers()), 'SIGSTOP')
  other.child.kill()
  const { answered, reset, silent } = await counted
  t.equal(await other.end(), 0)
  t.equal(silent, 0, 'no connection is left without an answer')
  t.ok(answered > 8)
  // The system may open a connection between the last look and the end of the socket, which takes microseconds.
  t.ok(reset <= 2, `${reset} requests were reset`)
})

t.test('no process outlives a supervisor that is killed', async t => {
  const other = startApplication(t, directory)
  const url = await other.url()
  other.child.kill('SIGKILL')
  // The child has the same pipes, so they are closed when it has ended, too.
  t.equal(await other.end(), 'SIGKILL')
  await t.rejects(fetch(url))
})

t.test('a debugger attaches to the main process, also after a restart', async t => {
  const port = await findPort()
  for (const [variable, option] of [
    [`NODE_OPTIONS=--inspect=${port}`, '--host=127.0.0.1'],
    ['NODE_OPTIONS=', `--inspect=${port}`],
  ] as const) {
    const other = startProgram(t, ['env', variable, process.execPath, inCopy('bin/serve'), '--port=0', option], {})
    await other.url()
    t.equal(await inspected(port), path.join(packageDirectory, 'dist/bin/serving/next-process.js'))
    add(bundle, '\n// a change\n')
    await other.url()
    t.equal(await inspected(port), path.join(packageDirectory, 'dist/bin/serving/next-process.js'))
    for (const save of [1, 2, 3]) {
      add(bundle, `\nprocess.stdout.write('save ${save}\\n')\n`)
      await pause(150)
    }
    await other.until(/save 3\n[\s\S]*Sinfonietta serves/)
    await until(() => childrenOf(other.child.pid).length === 1, 50)
    t.equal(
      await inspected(port),
      path.join(packageDirectory, 'dist/bin/serving/next-process.js'),
      'of quick saves the last one counts',
    )
    t.notMatch(other.stderr, 'address already in use')
    other.child.kill()
    t.equal(await other.end(), 0)
  }
})

t.test('a debugger of the command line is for the main process', async t => {
  const other = startFixture(t, 'application-program', {}, ['serve', directory, '--port=0'], ['--inspect=0'])
  await other.until(/Debugger listening on ws:[\s\S]*Debugger listening on ws:/)
  await other.url()
  other.child.kill()
  t.equal(await other.end(), 0)
})

t.test('a .env file that cannot be read is reported by the main process', async t => {
  writeFileSync(inCopy('.env.local'), 'not a setting\n')
  const other = startApplicationProgram(t, ['serve', directory, '--port=0'])
  t.equal(await other.end(), 1)
  t.match(other.stderr, /^The file ".*\.env\.local" is malformed at line 1: /)
})

t.test('the environment in .env.local decides whether there is a supervisor', async t => {
  writeFileSync(inCopy('.env.local'), 'APP_ENV=prod\n')
  const other = startApplication(t, directory)
  t.equal(await other.end(), 1)
  t.match(other.stderr, /^The configuration has mistakes:\n {2}APP_SECRET .*\n$/)
})

t.test('without a compiler, an existing dist/ is enough', compiled, async t => {
  rmSync(inCopy('.env.local'))
  // Packages are found in folders above, too: this one is outside of the repository.
  const alone = mkdtempSync(path.join(tmpdir(), 'application-'))
  t.teardown(() => rmSync(alone, { recursive: true }))
  cpSync(directory, alone, { recursive: true, verbatimSymlinks: true })
  const other = startApplication(t, alone, ['--port=0', '--env=test'])
  t.equal((await fetch(await other.url())).status, 200)

  rmSync(path.join(alone, 'dist'), { recursive: true })
  const message =
    'The sources are not compiled, and there is no compiler: run "npm install", which installs the package typescript.\n' +
    'Node 22.18 and later run the sources as they are.\n'
  const nothing = startApplicationProgram(t, ['serve', alone, '--port=0', '--env=test'])
  t.equal(await nothing.end(), 2)
  t.equal(nothing.stderr, message)
  const waiting = startApplicationProgram(t, ['serve', alone, '--port=0'])
  await waiting.until(/Nothing is started: waiting for a change\.\n/)
  t.equal(waiting.stderr, `${message}Nothing is started: waiting for a change.\n`)
  waiting.child.kill()
  t.equal(await waiting.end(), 0)
})
