import { type ChildProcess, fork, spawn } from 'node:child_process'
import crypto, { generateKeyPair, scrypt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { t } from 'tap'
import { patchProcess } from '#bundles/libraries/libraries.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { asyncWork, readAsyncCalls } from '#bundles/profiler/subjects/time/read.ts'
import { type AsyncCall, asyncCalls } from '#kernel/contracts/process-calls.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { profilePage } from '#tests/support/profiled-kernel.ts'

/** What is seen of a call when it ends. */
interface Seen {
  readonly name: string
  readonly ending: Parameters<NonNullable<AsyncCall['end']>>[0]
}

/** Collects the calls that end until the returned function is called. */
function collect(seen: Seen[]): () => void {
  const stops = [
    patchProcess(),
    asyncCalls.observe(call => {
      call.end = ending => void seen.push({ name: call.name, ending })
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Calls that end by a callback: each gives what it has passed, and the stack there. */
const calls: Readonly<Record<string, (done: (...values: unknown[]) => void) => unknown>> = {
  'crypto.scrypt': done => scrypt('a', 'b', 8, done),
  'crypto.pbkdf2': done => crypto.pbkdf2('a', 'b', 1, 8, 'sha1', done),
  'crypto.hkdf': done => crypto.hkdf('sha256', 'a', 'b', '', 8, (error, key) => done(error, Buffer.from(key))),
  'crypto.generateKeyPair': done => generateKeyPair('ec', { namedCurve: 'P-256' }, error => done(error)),
  'child process': done => spawn('sh', ['-c', 'exit 3']).on('exit', done),
  'worker thread': done => new Worker('process.exit(2)', { eval: true }).on('exit', done),
}

async function run(name: string) {
  let stack = ''
  const values = await new Promise<unknown[]>(resolve => {
    calls[name]?.((...values) => {
      stack = String(new Error('here').stack)
      resolve(values)
    })
  })
  return { stack, values }
}

t.test('callbacks and listeners get the same values with the same stacks as without the profiler', async t => {
  for (const name of Object.keys(calls)) {
    const bare = await run(name)
    const seen: Seen[] = []
    const stop = collect(seen)
    const observed = await run(name)
    stop()
    t.strictSame(observed, bare, name)
    t.strictSame(
      seen.map(each => each.name),
      [name],
    )
  }
})

t.test('a call says how it has ended, and a call that throws does not end', async t => {
  const seen: Seen[] = []
  t.teardown(collect(seen))
  t.throws(() => scrypt('a', 'b', -1, () => {}), { code: 'ERR_OUT_OF_RANGE' })
  // @ts-expect-error A callback is missing.
  t.throws(() => scrypt('a', 'b', 8), { code: 'ERR_INVALID_ARG_TYPE' })
  await run('child process')
  await run('worker thread')
  const missing = spawn('no-such-program')
  await new Promise(resolve => missing.on('error', resolve))
  t.match(seen, [
    { name: 'child process', ending: { exit: 3, command: ['sh', '-c', 'exit 3'] } },
    { name: 'worker thread', ending: { exit: 2 } },
    { name: 'child process', ending: { error: { code: 'ENOENT' } } },
  ])
})

t.test('a process or a thread that goes on ends with its first message', async t => {
  const seen: Seen[] = []
  t.teardown(collect(seen))
  const child: ChildProcess = fork('-e', ['process.send(1); process.on("disconnect", () => {})'], {
    execPath: process.execPath,
    execArgv: [],
  })
  const worker = new Worker(`require('node:worker_threads').parentPort.once('message', () => {}).postMessage(1)`, {
    eval: true,
  })
  const own = [child, worker].map(each => Object.keys(each).includes('emit'))
  t.strictSame(own, [false, false])
  await Promise.all([child, worker].map(each => new Promise(resolve => each.once('message', resolve))))
  t.strictSame(seen.map(({ name }) => name).sort(), ['child process', 'worker thread'])
  t.notOk([child, worker].some(each => Object.hasOwn(each, 'emit')))
  child.kill()
  await worker.terminate()
  t.equal(seen.length, 2)
})

t.test('promisified functions have the results of Node, and the functions are put back', async t => {
  const { scrypt: bare } = crypto
  const seen: Seen[] = []
  const stop = collect(seen)
  t.not(crypto.scrypt, bare)
  t.equal(((await promisify(scrypt)('a', 'b', 8)) as Buffer).length, 8)
  t.match(await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' }), { publicKey: Object, privateKey: Object })
  stop()
  t.equal(crypto.scrypt, bare)
  t.strictSame(
    seen.map(({ name }) => name),
    ['crypto.scrypt', 'crypto.generateKeyPair'],
  )
})

t.test('an observer that throws changes neither the result nor the error of the call', async t => {
  t.teardown(patchProcess())
  t.teardown(
    asyncCalls.observe(call => {
      call.end = () => {
        throw new Error('the end')
      }
    }),
  )
  t.teardown(
    asyncCalls.observe(() => {
      throw new Error('the begin')
    }),
  )
  t.strictSame((await run('child process')).values, [3, null])
  t.equal((await run('crypto.scrypt')).values[0], null)
})

/** Reports calls of a page, which end after the given milliseconds. */
async function record(name: string, ...times: readonly number[]): Promise<void> {
  await Promise.all(
    times.map(async time => {
      const call: AsyncCall = { name }
      asyncCalls.pass(call)
      await sleep(time)
      call.end?.({})
    }),
  )
}

t.test('the longest calls have details, the others are counted and timed, and short ones are left out', async t => {
  const { profile } = await profilePage(t, async () => {
    for (let index = 0; index < 20; index++) call('short').end?.({})
    const begun = Array.from({ length: 130 }, (_, index) => call(`call ${index}`))
    await sleep(20)
    for (const each of begun) each.end?.({})
    await record('longest', 60)
    return new Response('done')
  })
  const { calls, more } = readAsyncCalls(profile)
  t.equal(calls.length, 100)
  t.equal(asyncWork.count(profile), 100 + more.ended)
  t.ok(more.ended >= 31 && more.ended < 51, 'a busy machine may suspend the process during a short call')
  t.ok(calls.some(({ name }) => name === 'longest'))
})

function sentenceOf(profile: Profile): string {
  return toPlainText(summarizeProfile({ profile, findings: [], earlier: [] }).sentence)
}

function call(name: string): AsyncCall {
  const begun: AsyncCall = { name }
  asyncCalls.pass(begun)
  return begun
}

t.test('a command line is masked, and has no places of the machine', async t => {
  const { profile } = await profilePage(t, async () => {
    const begun = [0, 1, 2, 3, 4, 5].map(() => call('child process'))
    await sleep(10)
    const { execPath } = process
    begun[0]?.end?.({ command: ['/bin/sh', '-c', 'mysql --password "my secret" -e x; mysqldump -phunter2000'] })
    begun[1]?.end?.({ command: [execPath, `${process.cwd()}/lib/resize.js`, '--token', 'abcdefgh'], exit: 3 })
    begun[2]?.end?.({ command: ['zip', '-P', 'hunter2000', 'a.zip'], exit: 'SIGTERM' })
    begun[3]?.end?.({ error: Object.assign(new Error('none'), { code: 'ENOENT' }), command: ['gone'] })
    // The first 2,000 characters end within a password, and are short when they are masked.
    const half = `password=${'x'.repeat(1950)}&u=postgres://ada:hunter2000${'y'.repeat(100)}@db`
    begun[4]?.end?.({ command: ['/bin/sh', '-c', half] })
    begun[5]?.end?.({ command: ['curl', `http://a.test/?${half}`] })
    return new Response('done')
  })
  const { calls } = readAsyncCalls(profile)
  t.equal(calls[3]?.error, 'ENOENT')
  const found = calls.map(({ command = '', exit }) => [command, exit])
  t.strictSame(
    found.flat().filter(text => /secret|hunter|abcdefgh/.test(String(text))),
    [],
  )
  t.strictSame(found[2], ['zip -P ****** a.zip', 'SIGTERM'])
  t.match(found[1], [/^node \S*lib\/resize\.js --token \*{6}$/, 'exit code 3'])
})

t.test('a blocked event loop is no time of a call, and calls at the same time count once', t => {
  const time = (...asyncCalls: readonly object[]) => ({ measured: [], dropped: 0, asyncCalls })
  const scrypt = { name: 'crypto.scrypt', caller: { file: 'login.js', line: 12 } }
  const usage = { wall: 500, cpu: {}, heap: {}, requests: {}, loop: { active: 400, idle: 100 } }
  const blocks = [{ start: 100, duration: 200, cpu: 200, by: '', isOwn: false }]
  const memory = { ...usage, pauses: { count: 0, total: 0, longest: [] }, blocks }
  const say = (data: object) => sentenceOf(createProfile({ ...data }, { duration: 500 }))
  const whole = { ...scrypt, start: 50, end: 450 }
  t.match(say({ time: time(whole) }), /took 500 ms: crypto\.scrypt took 400 ms \(login\.js:12\)/)
  t.match(say({ time: time(whole), memory }), /crypto\.scrypt took 200 ms \(login\.js:12\)/)
  t.match(
    say({ time: time(whole, { ...scrypt, start: 60, end: 455 }) }),
    /crypto\.scrypt took 405 ms in 2 calls \(login\.js:12\)/,
  )
  const convert = { name: 'child process', command: 'convert a.png', start: 0, end: 460 }
  t.match(say({ time: time(convert) }), /: child process convert a\.png took 460 ms/)
  t.match(say({ time: time(convert, whole) }), /2 asynchronous calls took 460 ms/)
  const moreAsyncCalls = { ended: 30, failed: 0, longest: 10, total: 300, periods: [[0, 40]] }
  t.match(
    say({ time: { ...time(whole), moreAsyncCalls } }),
    /31 asynchronous calls took 440 ms, at least 1 of them at login\.js:12/,
  )
  t.end()
})
