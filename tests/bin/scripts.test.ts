import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { runProcess } from '#tests/support/start-process.ts'
import { type ProfileData, readProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** The command `sinfonietta profile`. */
const program = path.join(import.meta.dirname, '../fixtures/profiled-program.js')

const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env

/** Runs programs one after another, each under the profiler, and reads the profiles of all, by the names of the programs. */
async function run(t: Test, programs: Readonly<Record<string, { source: string; args?: string[]; exit: number }>>) {
  const cwd = t.testdir({ node_modules: {} })
  for (const [name, { args = [], exit, source }] of Object.entries(programs)) {
    writeFileSync(path.join(cwd, name), source)
    const env = { ...environment, PROFILER_PORT: '0', PROFILER_ALONE: '1' }
    // Tap's own code runs at the end of such a module, which then ends as any other.
    const command = exit === 13 ? ['env', '-u', 'NODE_OPTIONS', process.execPath] : [process.execPath]
    const { code, stderr } = await runProcess(t, [...command, program, name, ...args], { cwd, env })
    t.equal(code, exit, `${name}: ${stderr}`)
  }
  const source = "process.stdin.on('end', () => process.exit()).resume(); console.log('[]')"
  const { stop, viewer } = await startProfiled(t, source, { PROFILER_ALONE: '1' }, cwd)
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
  })
  const end = (name: string) => profiles.get(`command command ${name}`)
  const sentences: readonly (readonly [name: string, pattern: RegExp])[] = [
    ['seed.mjs', /^The command seed\.mjs took /],
    ['early.cjs', /^The command early\.cjs took /],
    ['thrown.mjs', /^The command thrown\.mjs failed after .*: TypeError at thrown\.mjs:\d+: no such shelf\.$/],
    ['code.mjs', /^The command code\.mjs failed with exit code 3 after /],
    ['never.mjs', /^The command never\.mjs failed with exit code 13 after /],
  ]
  t.equal(profiles.size, 6)
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
