import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { busyBundle } from '#tests/fixtures/busy-bundle.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'
import { until } from '#tests/support/until.ts'

/** A store in which one profile is deleted before it is read. */
class HastyStorage extends MemoryProfileStorage {
  override async find(token: string) {
    return token === 'cccccc' ? undefined : super.find(token)
  }
}

function open(t: Test) {
  const storage = new HastyStorage()
  const armFile = path.join(t.testdir(), 'var/armed.json')
  const bundles = () => [createFrameworkBundle(), createProfilerBundle({ storage, armFile }), busyBundle]
  const run = (line: string, init: RunInit = {}) =>
    runInTerminal(`profiler:cpu ${line}`, { load: async () => bundles(), env: { APP_ENV: 'dev' }, ...init })
  return { armFile, run, storage }
}

const cpu = {
  busy: 1000,
  samples: 10,
  functions: [
    { name: 'countPrimes', file: 'src/primes.ts', hot: 5, origin: 'application', self: 900, total: 900 },
    { name: 'emit', file: 'node:events', line: 500, origin: 'runtime', self: 100, total: 1000 },
    { name: 'handle', origin: 'kernel', self: 0, total: 1000 },
  ],
}

t.test('the command arms the servers of the project, shows the awaited request, and cancels it', async t => {
  const { armFile, run } = open(t)
  t.strictSame(await run(''), { code: 0, stdout: 'No CPU profile scheduled.\n', stderr: '' })
  const armed = await run('primes')
  t.equal(armed.code, 0)
  t.match(
    armed.stdout,
    /^Servers of this project wait for the next request of the route "primes", until \d\d:\d\d:\d\d UTC\.\n$/,
  )
  t.match(JSON.parse(readFileSync(armFile, 'utf8')), { target: { route: 'primes' }, until: Number })
  t.equal((await run('')).stdout, armed.stdout)
  t.equal((await run('--path /primes?page=2 --method post', {})).code, 64, 'methods are chosen from a list')
  await run('--path /primes?page=2 --method POST')
  t.hasStrict(JSON.parse((await run('--json')).stdout), { target: { method: 'POST', path: '/primes' } })
  t.equal((await run('--off')).stdout, 'No CPU profile scheduled.\n')
  t.notOk(existsSync(armFile))
  t.equal((await run('--json')).stdout, 'null\n')
})

t.test('an impossible target is a usage error', async t => {
  const { armFile, run } = open(t)
  for (const [line, reason] of [
    ['nope', 'There is no route "nope".'],
    ['primse', 'There is no route "primse"; the nearest is "primes".'],
    ['primes --path /', 'A route has its own paths and methods: leave out --path and --method.'],
    ['primes --off', '--off cancels any order: it takes no route and no other option.'],
    ['--path nope', 'A path begins with a slash, unlike "nope".'],
  ] as const) {
    const { code, stderr } = await run(line)
    t.equal(code, 64)
    t.match(stderr, reason)
  }
  t.notOk(existsSync(armFile))
})

t.test('the command waits for the request, and lists its hot spots', async t => {
  const { armFile, run, storage } = open(t)
  const waiting = run('primes --wait')
  await until(() => existsSync(armFile))
  await delay(20)
  storage.append(createRecord({ token: 'aaaaaa' }), '{}')
  await delay(1)
  storage.append(createRecord({ token: 'cccccc', data: { cpu } }), '{}')
  storage.append(createRecord({ token: 'bbbbbb', data: { cpu } }), '{}')
  const { code, stderr, stdout } = await waiting
  t.equal(code, 0)
  t.equal(stderr, 'Waiting for the next request of the route "primes".\n')
  t.equal(
    stdout,
    [
      'Own time  Share  With calls  Function     Place',
      ' 0.90 ms   90 %     0.90 ms  countPrimes  src/primes.ts:5',
      ' 0.10 ms   10 %      1.0 ms  emit         node:events',
      '',
      'The flame graph is in the profile bbbbbb: /_profiler/bbbbbb?panel=cpu',
      '',
    ].join('\n'),
  )
})

t.test('a wait without a request ends with a message', async t => {
  const { armFile, run } = open(t)
  const ended = await run('primes --wait', { signal: AbortSignal.abort() })
  t.equal(ended.code, 1)
  t.match(ended.stderr, 'The request did not come.')
  t.notOk(existsSync(armFile))
  const controller = new AbortController()
  const waiting = run('primes --wait', { signal: controller.signal })
  await until(() => existsSync(armFile))
  await delay(20)
  controller.abort()
  t.equal((await waiting).code, 1)
})

t.test('routes are suggested to the shell', async t => {
  const { storage } = open(t)
  const armFile = path.join(t.testdir(), 'armed.json')
  const load = async () => [createFrameworkBundle(), createProfilerBundle({ storage, armFile }), busyBundle]
  const { stdout } = await runInTerminal(['__complete', 'profiler:cpu', 'pri'], { load, env: { APP_ENV: 'dev' } })
  t.equal(stdout, 'primes\t/primes\n')
})
