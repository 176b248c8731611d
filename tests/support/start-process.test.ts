import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import { startProgram } from '#tests/bin/site-process.ts'
import { runProcess } from './start-process.ts'
import { until } from './until.ts'

/** Statements of tests that fail. `tree` starts a process that has started another one, and that nothing ends. */
const failing: Readonly<Record<string, string>> = {
  'an assertion': 'tree(t); t.equal(1, 2)',
  'an assertion after the first of two trees': 'tree(t); t.ok(false); tree(t)',
  'a thrown error': "tree(t); throw new Error('on purpose')",
  'a rejected promise': "tree(t); await Promise.reject(new Error('on purpose'))",
  'an error in a timer': "tree(t); setTimeout(() => { throw new Error('on purpose') }); await never",
  'a promise that is not handled': "tree(t); Promise.reject(new Error('on purpose')); await never",
  'a limit of time': 'tree(t); t.setTimeout(300); await never',
  'a plan': 'tree(t); t.plan(1); t.pass(); t.pass()',
  'an error while a server starts': "startSite(t, ['--port=0']); throw new Error('on purpose')",
  'an error while a server serves': "const site = startSite(t, ['--port=0']); await site.url(); t.equal(1, 2)",
  'an output that never comes': "await startProgram(t, ['sh', '-c', 'sleep 1000 & exit 1'], {}).until(/never/)",
  'an error while a command runs': "runProcess(t, ['sh', '-c', endless]); throw new Error('on purpose')",
  'a process that writes into a folder': 'startProcess(t, writer(t.testdir())); await pause(200); t.ok(false)',
  'a process that ignores SIGTERM': "startProcess(t, ['sh', '-c', 'trap : TERM; ' + endless]); t.ok(false)",
}

/** Statements of programs that end before their tests do. */
const ending: Readonly<Record<string, string>> = {
  'a teardown': "tree(t); t.teardown(() => { throw new Error('on purpose') })",
  SIGKILL: "tree(t); process.kill(process.pid, 'SIGKILL'); await never",
  SIGINT: "tree(t); process.kill(process.pid, 'SIGINT'); await never",
  'an exit': 'tree(t); process.exit(1)',
  'the limit of all tests': 'tree(t); await never',
  'a bailout': "tree(t); t.bailout('on purpose')",
}

/** A program of tests, which has what the statements use. */
function createProgram(tests: Readonly<Record<string, string>>): string {
  const bodies = Object.entries(tests).map(([name, body]) => `t.test('${name}', async t => { ${body} })\n`)
  return `
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { t } from 'tap'
import { pause, startProgram, startSite } from '${new URL('../bin/site-process.js', import.meta.url)}'
import { runProcess, startProcess } from '${new URL('start-process.js', import.meta.url)}'

const endless = 'sleep 1000 & sleep 1000'
const tree = t => startProcess(t, ['sh', '-c', endless])
const writer = folder => ['sh', '-c', 'cd "$0"; n=0; while :; do n=$((n+1)); mkdir -p "$n"; : > "$n/file"; done', folder]
const never = new Promise(() => undefined)
const write = async folder => {
  for (let n = 0; ; n++) await writeFile(folder + '/' + n, '').catch(() => mkdir(folder, { recursive: true }))
}

${bodies.join('')}`
}

/** The commands of all processes that have a variable in their environment. */
function listProcesses(variable: string): string[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return pids.flatMap(pid => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(variable)) return []
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    } catch {
      return []
    }
  })
}

const isLinux = existsSync('/proc/self/environ')

t.test('twenty tests that fail in twenty ways leave no process and no folder', { skip: !isLinux }, async t => {
  const folder = t.testdir()
  const variable = `FAILING_TESTS=${randomUUID()}`
  const run = async (name: string, tests: Readonly<Record<string, string>>, seconds: number) => {
    const file = path.join(folder, `${name}.mjs`)
    writeFileSync(file, createProgram(tests))
    // A program of its own, not a part of this run of tap.
    const clean = ['env', '-u', 'TAP_CHILD_ID', `TAP_TIMEOUT=${seconds}`, variable]
    return runProcess(t, [...clean, process.execPath, file])
  }
  const { code, stdout } = await run('failing', failing, 60)
  const failed = Array.from(stdout.matchAll(/^not ok \d+ - (.+?)(?: #.*| \{)?$/gm), ([, name]) => name)
  t.equal(code, 1)
  t.strictSame(
    Object.keys(failing).filter(name => !failed.includes(name)),
    [],
    'each of them fails',
  )
  for (const [index, [name, body]] of Object.entries(ending).entries()) {
    t.not((await run(`ending-${index}`, { [name]: body }, 2)).code, 0, name)
  }
  t.equal(Object.keys({ ...failing, ...ending }).length, 20)
  // The processes of a program that was killed end a moment after it.
  await until(() => listProcesses(variable).length === 0, 50).catch(() => undefined)
  t.strictSame(listProcesses(variable), [])
  t.strictSame(
    readdirSync(path.resolve('.tap/fixtures')).filter(name => name.includes('failing.mjs')),
    [],
  )
})

t.test('a limit names what was awaited, and what the process has printed', async t => {
  const site = startProgram(t, ['sh', '-c', 'echo something else'], {})
  await t.rejects(site.until(/ready/), {
    message: /^The process ".+" has ended without the output \/ready\/; its output: something else\n$/,
  })
})

/** Statements of tests that leave something open in their own process. */
const leaving: Readonly<Record<string, string>> = {
  'a server that stays open': 'createServer().listen(0); t.ok(false)',
  'a teardown that never ends': "t.teardown(() => console.log('# the next one')); t.teardown(() => never); t.ok(false)",
  'work that writes into the folder': 'write(t.testdir()); await pause(50); t.ok(false)',
  'a teardown of a test in a test': "await t.test('inner', async t => { t.teardown(() => never); t.ok(false) })",
}

t.test('what a failed test leaves open ends with its program, which names it', async t => {
  const file = path.join(t.testdir(), 'leaving.test.js')
  const run = (tests: Readonly<Record<string, string>>) => {
    writeFileSync(file, createProgram(tests))
    const clean = ['env', '-u', 'TAP_CHILD_ID', 'TAP_TIMEOUT=60', 'END_LIMIT=300']
    const preload = `--import=${pathToFileURL(path.resolve('dist/tests/support/end-tests.js'))}`
    return runProcess(t, [...clean, process.execPath, preload, file])
  }
  const { code, stderr, stdout } = await run(leaving)
  t.equal(code, 1)
  for (const name of Object.keys(leaving)) t.match(stdout, `- ${name} #`)
  t.match(stdout, '# the next one')
  t.match(stdout, /^1\.\.\d+$/m)
  t.strictSame(
    readdirSync(path.resolve('.tap/fixtures')).filter(name => name.includes('leaving.test.js-')),
    [],
  )
  t.match(stderr, /A teardown of the test ".*a teardown that never ends" has not ended: .*TCPServerWrap/)
  t.match(stderr, /A teardown of the test ".*inner" has not ended/)
  t.match(stderr, /The tests have ended, but not their process: .*TCPServerWrap/)
  const passed = await run({
    'a slow end': "t.teardown(() => pause(800).then(() => console.log('# ended'))); t.pass()",
  })
  t.strictSame([passed.code, passed.stderr], [0, ''])
  t.match(passed.stdout, '# ended', 'a passed test has all the time of tap')
})

t.test('each request of fetch has a connection of its own, which no server closes before it is sent', async t => {
  const server = createServer(({ socket }, reply) => reply.end(`${socket.remotePort}`)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = async () => (await fetch(`http://127.0.0.1:${port}`)).text()
  t.not(await ask(), await ask())
})
