import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { type Test, t } from 'tap'
import { storeEndedCommand } from '#bin/profiling/profile.ts'
import { findCommandFile, storeEndedCommands } from '#bin/profiling/running-commands.ts'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { listProfiles, type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')

/** A program that does nothing until the test stops it. */
const idleProgram = "process.stdin.on('end', () => process.exit()).resume(); console.log('[]')"

/** The command `sinfonietta profile`. */
const program = path.join(import.meta.dirname, '../fixtures/profiled-program.js')

const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/**
 * Runs programs one after another, each under the profiler, and reads the profiles of all, by the
 * names of the programs.
 */
async function run(t: Test, programs: Readonly<Record<string, { source: string; args?: string[]; exit: number }>>) {
  const cwd = t.testdir({ node_modules: {} })
  for (const [name, { args = [], exit, source }] of Object.entries(programs)) {
    writeFileSync(path.join(cwd, name), source)
    const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
    const { code, stderr } = await runProcess(t, [process.execPath, program, name, ...args], { cwd, env })
    t.equal(code, exit, `${name}: ${stderr}`)
  }
  const { stop, viewer } = await startProfiled(t, idleProgram, { PROFILER_ALONE: '1' }, cwd)
  const found = (await (await fetch(`${viewer}/_profiler/search.json?limit=100`)).json()) as {
    readonly records: readonly ProfileData[]
  }
  const profiles = new Map<string, ProfileData & { readonly overview: { readonly sentence: string } }>()
  for (const { summary } of found.records) {
    const profile = await readProfile(viewer, summary.token)
    profiles.set(`${summary.type} ${summary.route}`, profile as ProfileData & { overview: { sentence: string } })
  }
  await stop()
  return profiles
}

t.test('a script has one profile, with its calls, its lines and its end', async t => {
  const source = `
    import { once } from 'node:events'
    import { get } from 'node:http'
    import { setTimeout } from 'node:timers/promises'
    await once(get({ host: '127.0.0.1', port: 2 }), 'error')
    await setTimeout(5)
    console.log('seeded')
    `
  const profiles = await run(t, {
    'seed.mjs': { source, exit: 0 },
    'early.cjs': { source: "console.log('early'); process.exit(0)", exit: 0 },
    'thrown.mjs': { source: `${source}\nthrow new TypeError('no such shelf')`, exit: 1 },
    'code.mjs': { source: `${source}\nprocess.exitCode = 3`, exit: 3, args: ['--password', 'hunter22', 'all'] },
    'open.mjs': { source: `${source}\nglobalThis.setInterval(() => {}, 50)\nprocess.exit(0)`, exit: 0 },
    'never.mjs': { source: `${source}\nawait new Promise(() => {})`, exit: 13 },
    'text.mjs': { source: `${source}\nthrow 'no shelf'`, exit: 1 },
    'quits.mjs': { source: `${source}\nfunction quit() { process.exit(2) }\nquit()`, exit: 2 },
    'rejected.mjs': { source: `${source}\nPromise.reject(5)`, exit: 1 },
  })
  const end = (name: string) => profiles.get(`command command ${name}`)
  const sentences: readonly (readonly [name: string, pattern: RegExp])[] = [
    ['seed.mjs', /^The command seed\.mjs took /],
    ['early.cjs', /^The command early\.cjs took /],
    [
      'thrown.mjs',
      /^The command thrown\.mjs failed with exit code 1 after .*: TypeError at thrown\.mjs:\d+: no such shelf\.$/,
    ],
    ['code.mjs', /^The command code\.mjs failed with exit code 3 after /],
    ['never.mjs', /^The command never\.mjs failed with exit code 13 after /],
    ['text.mjs', /^The command text\.mjs failed with exit code 1 after .*: Thrown value: no shelf\.$/],
    ['quits.mjs', /^The command quits\.mjs failed with exit code 2 at quits\.mjs:9 after /],
    [
      'rejected.mjs',
      /^The command rejected\.mjs failed with exit code 1 after .*: The promise rejected with the reason "5"\.$/,
    ],
  ]
  t.equal(profiles.size, 9)
  for (const [name, pattern] of sentences) {
    const { data, overview, summary } = end(name) ?? {}
    t.match(overview?.sentence, pattern)
    const isEarly = name === 'early.cjs'
    t.match(summary, { dumps: 1, calls: isEarly ? 0 : 1, url: '', method: '', ip: '', status: 0 }, name)
    t.equal(data?.request, undefined)
  }
  t.match(end('open.mjs')?.data.unit, { exitCode: 0, open: ['1 timer'] })
  t.match(end('thrown.mjs')?.summary, { outcome: 'failed', exception: 'TypeError' })
  const input = JSON.stringify(end('code.mjs')?.data.unit)
  t.match(input, /"all"/)
  t.notMatch(input, /hunter22/)
})

t.test('a command that ends with work pending says so, and what it has left', async t => {
  const asked = net.createServer().listen(0, '127.0.0.1')
  await once(asked, 'listening')
  t.teardown(() => asked.close())
  const address = asked.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const source = `
    fetch('http://127.0.0.1:' + process.argv[2] + '/never').catch(() => undefined)
    setTimeout(() => process.exit(0), 200)`
  const profiles = await run(t, { 'pending.mjs': { source, exit: 0, args: [port] } })
  const { data, findings } = profiles.get('command command pending.mjs') as unknown as ProfileData & {
    readonly findings: readonly { readonly rule: string; readonly problem: string }[]
  }
  t.strictSame(
    findings.map(({ rule }) => rule),
    ['pending-work'],
  )
  t.match(findings[0]?.problem, /^The command ended before 1 HTTP client call had ended/)
  t.match(JSON.stringify(data.unit), /"1 connection"/)
})

t.test('a server is no script, whether or not a request has come', async t => {
  const listen = `
    import { createServer } from 'node:http'
    const server = createServer((_, reply) => reply.end()).listen(0, '127.0.0.1', async () => {
      if (process.argv[2] === 'ask') await (await fetch('http://127.0.0.1:' + server.address().port + '/asked')).text()
      process.exit(0)
    })`
  const profiles = await run(t, {
    'idle.mjs': { source: listen, exit: 0 },
    'asked.mjs': { source: listen, exit: 0, args: ['ask'] },
  })
  t.strictSame([...profiles.keys()], ['request GET /asked'])
})

t.test('a command that a signal ends has a profile with its signal, and its work so far', async t => {
  const work = `
    import net from 'node:net'
    import { setTimeout } from 'node:timers/promises'
    net.connect({ host: '127.0.0.1', port: Number(process.argv[2]) })
    const interval = setInterval(() => {}, 1000)
    console.log('worked')
    `
  const idle = net.createServer().listen(0, '127.0.0.1')
  await once(idle, 'listening')
  const address = idle.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const cwd = t.testdir({ node_modules: {} })
  const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
  const ways = { profile: [program], import: ['--import', preload] }
  const file = path.join(cwd, 'node_modules/.cache/sinfonietta/commands')
  /** Runs a program, ends it from outside when its profile is written, and returns how it has ended. */
  const end = async (name: string, source: string, way: keyof typeof ways, signal?: NodeJS.Signals) => {
    writeFileSync(path.join(cwd, name), work + source)
    const child = startProcess(t, [process.execPath, ...ways[way], name, port], { cwd, env })
    const exited = once(child, 'exit')
    if (signal !== undefined) {
      await until(() => {
        const names = existsSync(file) ? readdirSync(file).filter(name => name.endsWith('.json')) : []
        const texts = names.map(name => readFileSync(path.join(file, name), 'utf8'))
        return texts.some(text => text.includes('worked') && text.includes(name))
      })
      child.kill(signal)
    }
    return (await exited).find(value => value !== null)
  }
  const kill = (signal: string) => `process.kill(process.pid, '${signal}'); console.log('never')`
  const ends: Readonly<
    Record<
      string,
      readonly [
        way: keyof typeof ways,
        source: string,
        signal: NodeJS.Signals | undefined,
        end: string | number,
        sentence: RegExp,
      ]
    >
  > = {
    'int.mjs': ['profile', '', 'SIGINT', 'SIGINT', /was ended by SIGINT after more than /],
    'term.mjs': ['profile', '', 'SIGTERM', 'SIGTERM', /was ended by SIGTERM after more than /],
    'busy.mjs': [
      'profile',
      'await setTimeout(600); for (;;);',
      'SIGINT',
      'SIGINT',
      /was ended by SIGINT after more than /,
    ],
    'child.mjs': ['import', '', 'SIGTERM', 'SIGTERM', /did not report its end, which came after more than /],
    'killed.mjs': ['import', '', 'SIGKILL', 'SIGKILL', /did not report its end, which came after more than /],
    'own.mjs': [
      'import',
      "process.on('SIGINT', () => process.exit(130))",
      'SIGINT',
      130,
      /failed with exit code 130 at own\.mjs:7 after /,
    ],
    'graceful.mjs': ['profile', "process.on('SIGTERM', () => process.exit())", 'SIGTERM', 0, /took /],
    'self.mjs': ['import', kill('SIGTERM'), undefined, 'SIGTERM', /was ended by SIGTERM after \d/],
    'hard.mjs': ['profile', kill('SIGKILL'), undefined, 'SIGKILL', /was ended by SIGKILL after \d/],
    'once.mjs': [
      'import',
      `process.once('SIGINT', () => { ${kill('SIGINT')} })`,
      'SIGINT',
      'SIGINT',
      /was ended by SIGINT after \d/,
    ],
    'abort.mjs': ['profile', 'process.abort()', undefined, 'SIGABRT', /was ended by SIGABRT after \d/],
    'heard.mjs': [
      'import',
      `process.on('SIGUSR2', () => process.exit(4)); process.kill(process.pid, 'SIGUSR2'); process.kill(process.pid, 0)`,
      undefined,
      4,
      /failed with exit code 4 at heard\.mjs:7 after /,
    ],
    'counts.mjs': [
      'import',
      "process.exit(['SIGINT', 'SIGTERM', 'SIGHUP'].reduce((sum, name) => sum + process.listenerCount(name), process.kill.length))",
      undefined,
      2,
      /failed with exit code 2 at counts\.mjs:7 after /,
    ],
  }
  const found: unknown[] = []
  for (const [name, [way, source, signal]] of Object.entries(ends))
    found.push([name, await end(name, source, way, signal)])
  t.strictSame(
    found,
    Object.entries(ends).map(([name, [, , , end]]) => [name, end]),
    'each ends as without the profiler',
  )
  idle.close()

  const { stop, viewer } = await startProfiled(t, idleProgram, { PROFILER_ALONE: '1' }, cwd)
  await until(() => readdirSync(file).length < 2)
  const profiles = new Map<string, ProfileData>()
  for (const { route, token } of await listProfiles(viewer)) {
    t.notOk(profiles.has(String(route)), `one profile of ${route}`)
    profiles.set(String(route), await readProfile(viewer, token))
  }
  t.strictSame(new Set(profiles.keys()), new Set(Object.keys(ends).map(name => `command ${name}`)))
  for (const [name, [, , , , sentence]] of Object.entries(ends)) {
    const { data, overview, summary } = profiles.get(`command ${name}`) as ProfileData & {
      overview: { sentence: string }
    }
    t.match(overview.sentence, sentence, name)
    t.match(summary, { dumps: 1, type: 'command' }, name)
    if (name !== 'heard.mjs' && name !== 'counts.mjs') t.match(JSON.stringify(data.unit), /"1 connection"/, name)
  }
  await stop()
})

t.test('what a killed command has written is stored with its signal, if that is known', async t => {
  const cwd = t.testdir({
    node_modules: {},
    'app.mjs': "console.log('worked'); setInterval(() => {}, 1000)",
  })
  const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
  const child = startProcess(t, [process.execPath, '--import', preload, 'app.mjs'], { cwd, env })
  const exited = once(child, 'exit')
  const folder = path.join(cwd, 'node_modules/.cache/sinfonietta/commands')
  const file = findCommandFile(path.dirname(folder), child.pid)
  await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('worked'))
  child.kill('SIGKILL')
  await exited
  const others = ['', '{', '[]', '{"text":"{}","facts":"{}"}', '{"text":1,"facts":"{}"}']
  // No process has such an id.
  for (const [index, text] of others.entries())
    writeFileSync(findCommandFile(path.dirname(folder), 99_999_990 + index), text)
  // Killed while it wrote.
  writeFileSync(`${findCommandFile(path.dirname(folder), 99_999_989)}.new`, '{')
  await storeEndedCommand(cwd, Number(child.pid), 'SIGKILL')
  t.strictSame(readdirSync(folder), [], 'also the damaged files are gone')
  const { stop, viewer } = await startProfiled(t, idleProgram, { PROFILER_ALONE: '1' }, cwd)
  const [found, ...more] = await listProfiles(viewer)
  t.strictSame(more, [])
  t.match((await readProfile(viewer, String(found?.token))).data.unit, { signal: 'SIGKILL' })
  await stop()
})

t.test('the profile of a killed command is written at once: what stores it may be killed, too', async t => {
  const cwd = t.testdir({ node_modules: {}, 'app.mjs': "console.log('worked'); setInterval(() => {}, 1000)" })
  const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
  const child = startProcess(t, [process.execPath, '--import', preload, 'app.mjs'], { cwd, env })
  const exited = once(child, 'exit')
  const files = path.join(cwd, 'node_modules/.cache/sinfonietta')
  await until(() => existsSync(findCommandFile(files, child.pid)))
  child.kill('SIGKILL')
  await exited
  const directory = path.join(files, 'profiler')
  const storage = new FileProfileStorage({ directory, onProblem: problem => t.fail(problem) })
  await storeEndedCommands(files, storage)
  const stored = readdirSync(directory)
  t.notOk(existsSync(findCommandFile(files, child.pid)))
  t.match(stored, [/\.index$/, /\.jsonl$/])
  await storage.close()
})

t.test('a signal that does not end a program is not its outcome', async t => {
  const cwd = t.testdir({
    node_modules: {},
    // Some tests of applications replace it so.
    'stub.mjs': 'process.kill = () => true',
    'app.mjs': "process.kill(process.pid, 'SIGKILL'); console.log('went on')",
  })
  const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
  const command = [process.execPath, '--import', './stub.mjs', '--import', preload, 'app.mjs']
  const { code, stderr } = await runProcess(t, command, { cwd, env })
  t.equal(code, 0, stderr)
  const { stop, viewer } = await startProfiled(t, idleProgram, { PROFILER_ALONE: '1' }, cwd)
  const [found, ...more] = await listProfiles(viewer)
  t.strictSame(more, [])
  t.match(found, { outcome: 'complete', dumps: 1 })
  t.equal(((await readProfile(viewer, String(found?.token))).data.unit as { signal?: string }).signal, undefined)
  await stop()
})

t.test('a server that has not listened yet is no command, however it ends', async t => {
  const source = `
    import { createServer } from 'node:http'
    setTimeout(() => createServer().listen(0, '127.0.0.1', () => console.log('[]')), 600)
    process.stdin.on('end', () => process.exit()).resume()`
  const first = await startProfiled(t, source, { PROFILER_ALONE: '1' })
  const folder = path.join(first.cwd, 'node_modules/.cache/sinfonietta/commands')
  t.strictSame(readdirSync(folder), [])
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  const { stop, viewer } = await startProfiled(t, source, { PROFILER_ALONE: '1' }, first.cwd)
  t.strictSame(await listProfiles(viewer), [])
  await stop()
})
